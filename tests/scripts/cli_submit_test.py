"""`firn submit`: the files of every queue, and a real Slurm that runs them and loses a machine."""

import copy
import json
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import cli_support
import slurm
from cli_support import SCENE, Firn, files_of

LIMITS = ["--memory", "500", "--minutes", "20", "--cpus", "1"]


def braces_close(text):
    """Whether the braces of a Tcl list close, those behind a backslash aside."""
    depth, at = 0, 0
    while at < len(text) and depth >= 0:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 2 if text[at] == "\\" else 1
    return depth == 0


class Files(Firn):
    def submit(self, queue, *words, code=0):
        return self.firn("submit", self.scene, "--to", queue, "-o", f"job_{queue}", *LIMITS,
                         "--set", "comment=it's {a} test", *words, code=code)

    def test_scripts_of_slurm_say_what_each_task_does(self):
        self.submit("slurm", "--chunk", "2", "--base", "caches")
        job = self.folder / "job_slurm"
        for name in ["simulate.sbatch", "later.sbatch", "submit.sh"]:
            subprocess.run(["bash", "-n", job / name], check=True)
        simulate, later = ((job / f"{name}.sbatch").read_text() for name in ["simulate", "later"])
        self.assertIn("#SBATCH --mem=500M\n", simulate)
        self.assertIn("#SBATCH --time=20\n", simulate)
        self.assertIn("--only points,archive", simulate)
        self.assertIn(f"--base {self.folder}/caches", simulate)
        self.assertIn("#SBATCH --array=0-2\n", later)
        self.assertIn("""--set 'comment=it'\\''s {a} test'""", later)

    def test_ranks_are_machines_of_slurm(self):
        self.submit("slurm", "--ranks", "4", "--chunk", "2")
        simulate, later = ((self.folder / f"job_slurm/{name}.sbatch").read_text()
                           for name in ["simulate", "later"])
        self.assertIn("#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=1\n", simulate)
        self.assertIn("mpirun -n 4 ", simulate)
        self.assertNotIn("mpirun", later)
        self.submit("openjd", "--ranks", "4", code=2)
        self.submit("slurm", "--ranks", "4", "--vary", "ball.radius=0.1,0.2", code=2)

    def test_chunks_of_slurm_cover_every_frame_once(self):
        for frames, chunk, expected in [("1-5", 2, ["1-2", "3-4", "5-5"]), ("2-5", 9, ["2-5"]),
                                        ("1-5x2", 2, ["1-3x2", "5-5x2"])]:
            shutil.rmtree(self.folder / "job_slurm", True)
            self.submit("slurm", "--chunk", chunk, "--frames", frames)
            text = (self.folder / "job_slurm/later.sbatch").read_text()
            count = int(text.split("--array=0-")[1].split()[0]) + 1
            begin = text.index("first=")
            reckon = text[begin:text.index("\n\n", begin)]
            seen = [subprocess.run(["bash", "-c", reckon + "\necho $frames"], text=True,
                                   capture_output=True, check=True,
                                   env={"SLURM_ARRAY_TASK_ID": str(part)}).stdout.strip()
                    for part in range(count)]
            self.assertEqual(seen, expected)

    def test_the_template_of_openjd_is_json_with_steps_in_order(self):
        self.submit("openjd", "--chunk", "2")
        job = json.loads((self.folder / "job_openjd/template.json").read_text())
        self.assertEqual(job["specificationVersion"], "jobtemplate-2023-09")
        simulate, later = job["steps"]
        self.assertEqual(later["dependencies"], [{"dependsOn": simulate["name"]}])
        space = later["parameterSpace"]["taskParameterDefinitions"]
        self.assertEqual(space[0]["range"], ["1-2", "3-4", "5-5"])
        run = simulate["script"]["actions"]["onRun"]
        self.assertEqual(run["cancelation"]["mode"], "NOTIFY_THEN_TERMINATE")
        self.assertIn("comment=it's {a} test", run["args"])
        amounts = {a["name"]: a["min"] for a in simulate["hostRequirements"]["amounts"]}
        self.assertEqual(amounts, {"amount.worker.vcpu": 1, "amount.worker.memory": 500})

    def test_the_specification_of_opencue_is_xml_with_a_dependency(self):
        self.submit("opencue", "--chunk", "2", "--set", "ball.name=a<b&c", code=2)
        self.submit("opencue", "--chunk", "2")
        spec = ElementTree.parse(self.folder / "job_opencue/job.xml").getroot()
        layers = {layer.get("name"): layer for layer in spec.iter("layer")}
        self.assertEqual(layers["later"].find("range").text, "1-5")
        self.assertEqual(layers["later"].find("chunk").text, "2")
        self.assertIn("--frames #FRAME_START#-#FRAME_END#", layers["later"].find("cmd").text)
        self.assertEqual(spec.find("depends/depend/onlayer").text, "simulate")

    def test_the_script_of_tractor_is_a_list_of_tasks(self):
        self.submit("tractor", "--chunk", "2")
        text = (self.folder / "job_tractor/job.alf").read_text()
        self.assertTrue(braces_close(text))
        self.assertEqual(text.count("RemoteCmd"), 4)
        self.assertIn(r"comment=it's\ \{a\}\ test", text)
        self.assertIn("-retryrc {130 143}", text)

    def test_a_shot_without_particle_files_is_one_task(self):
        scene = copy.deepcopy(SCENE)
        del scene["nodes"]["points"], scene["nodes"]["archive"]
        path = self.write_scene("one.firn", scene)
        self.firn("submit", path, "--to", "slurm", "-o", "one", *LIMITS)
        self.assertEqual(sorted(p.name for p in (self.folder / "one").iterdir()),
                         ["simulate.sbatch", "submit.sh"])

    def test_what_is_not_given_is_estimated(self):
        said = self.firn("submit", self.scene, "--to", "tractor", "-o", "e")
        self.assertRegex(said, r"simulate +1 task, \d+ CPUs, \d+ MB, 10 minutes at most")

    def test_mistakes_write_nothing(self):
        for words in [["--to", "lsf", "-o", "x"], ["-o", "x"], ["--to", "slurm"],
                      ["--to", "slurm", "-o", "x", "--chunk", "0"],
                      ["--to", "slurm", "-o", "x", "--cpus", "many"],
                      ["--to", "slurm", "-o", "x", "--set", "comment={{Param.Program}}"],
                      ["--to", "slurm", "-o", "x", "--vary", "nonsense"]]:
            self.firn("submit", self.scene, *words, code=2)
        self.firn("submit", "absent.firn", "--to", "slurm", "-o", "x", code=5)
        self.firn("submit", self.scene, "--to", "slurm", "-o", "no/such/folder", *LIMITS, code=1)
        self.assertFalse((self.folder / "x").exists())

    def test_the_files_of_another_job_stay(self):
        self.submit("tractor")
        before = files_of(self.folder / "job_tractor")
        self.submit("tractor", "--chunk", "1", code=11)
        self.assertEqual(files_of(self.folder / "job_tractor"), before)

    def test_progress_for_openjd(self):
        said = self.firn("cook", self.scene, "--progress", "openjd")
        self.assertIn("openjd_progress: 100\n", said)
        self.assertIn("openjd_status: frame 5", said)
        self.assertNotIn("ALF_PROGRESS", said)
        self.assertIn("openjd_fail: ", self.firn("cook", self.scene, "--progress", "openjd",
                                                 code=11))
        self.firn("cook", self.scene, "--progress", "lsf", code=2)


@unittest.skipIf(slurm.missing(), slurm.missing())
class Farm(Firn):
    """Three nodes of one core."""

    def setUp(self):
        super().setUp()
        self.cluster = slurm.Cluster(tempfile.mkdtemp(prefix="firn_slurm_") + "/c",
                                     ["n1", "n2", "n3"])
        self.addCleanup(shutil.rmtree, self.cluster.folder.parent, True)
        self.addCleanup(self.cluster.stop)
        self.cluster.start()

    def submit(self, *words):
        self.firn("submit", self.scene, "--to", "slurm", "--program", self.program, *LIMITS, *words)

    def finish(self, seconds):
        self.cluster.wait(lambda: self.cluster.queue() == [], seconds)

    def test_a_wedge_of_twelve_survives_the_loss_of_a_node(self):
        slow = ["--set", "solver.cell_size=0.012", "--set", "raster.voxel_size=0.02"]
        vary = ["--vary", "ball.radius=0.06:0.1:12"]
        self.submit("-o", "wedge", "--base", "farm", *slow, *vary)
        self.cluster.run("bash", self.folder / "wedge/submit.sh")
        frames = self.folder.glob
        self.cluster.wait(lambda: any(frames("farm/tiny/v1/w*/*.0002.bgeo")), 60)
        busy = next(n for j, s, n in self.cluster.queue() if s == "RUNNING")
        lost = self.cluster.kill_node(busy)
        self.assertTrue(lost)
        self.finish(120)
        info = self.cluster.states()
        self.assertEqual(len([s for s in info if s.startswith("down")]), 1, info)
        for variant in range(12):
            self.firn("info", "--verify", f"farm/tiny/v1/w{variant}")
        for variant in range(4):  # one of them was on the node that died
            self.firn("wedge", self.scene, "--base", "calm", *slow, *vary, "--only", variant)
            calm, farm = (files_of(self.folder / base / f"tiny/v1/w{variant}")
                          for base in ["calm", "farm"])
            for name in calm:
                if not name.endswith((".json", ".firn", ".chk")):
                    self.assertEqual(farm[name], calm[name], f"w{variant}/{name}")

    def test_later_stages_follow_in_chunks_and_twins_are_refused(self):
        frames = ["--set", "last=48", "--set", "solver.cell_size=0.015"]
        self.submit("-o", "one", "--base", "farm", "--chunk", "6", *frames)
        self.submit("-o", "twin", "--base", "farm", "--chunk", "6", *frames)
        for name in ["one/simulate.sbatch", "one/later.sbatch"]:
            self.cluster.run("sbatch", "--test-only", self.folder / name)
        self.cluster.run("bash", self.folder / "one/submit.sh")
        self.cluster.wait(lambda: (self.folder / "farm/tiny/v1/.lock").exists(), 30)
        self.cluster.run("bash", self.folder / "twin/submit.sh")
        self.finish(90)
        self.assertIn("is being written by", self.log("twin"))
        self.firn("info", "--verify", "farm/tiny/v1")
        self.firn("cook", self.scene, "--base", "calm", *frames)
        calm, farm = (files_of(self.folder / base / "tiny/v1") for base in ["calm", "farm"])
        volumes = [name for name in calm if name.endswith(".vdb")]
        self.assertEqual(len(volumes), 48)
        for name in volumes:
            self.assertEqual(farm[name], calm[name], name)

    def test_one_shot_is_simulated_on_three_machines(self):
        self.cluster.env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.submit("-o", "job", "--base", "farm", "--ranks", "3", "--chunk", "3")
        self.cluster.run("sbatch", "--test-only", self.folder / "job/simulate.sbatch")
        self.cluster.run("bash", self.folder / "job/submit.sh")
        self.finish(120)
        timing = self.folder / "farm/tiny/v1/timing.json"
        self.assertEqual(json.loads(timing.read_text())["frames"]["5"]["ranks"], 3)
        self.firn("info", "--verify", "farm/tiny/v1")
        self.firn("cook", self.scene, "--base", "calm")
        calm, farm = (files_of(self.folder / base / "tiny/v1") for base in ["calm", "farm"])
        for name in (n for n in calm if n.endswith((".bgeo", ".abc", ".vdb"))):
            self.assertEqual(farm[name], calm[name], name)

    def test_a_task_that_is_out_of_time_goes_back_and_ends_with_the_same_bits(self):
        slow = ["--set", "solver.cell_size=0.008"]
        self.submit("-o", "job", "--base", "farm", *slow)
        self.cluster.run("bash", self.folder / "job/submit.sh")
        self.cluster.wait(lambda: any(self.folder.glob("farm/tiny/v1/*.0002.bgeo")), 60)
        job = next(j for j, s, n in self.cluster.queue() if s == "RUNNING")
        self.cluster.run("scancel", "--batch", "--signal=USR2", job)
        self.cluster.wait(lambda: "back into the queue" in self.log("job"), 30)
        self.finish(150)
        self.firn("cook", self.scene, "--base", "calm", *slow)
        calm, farm = (files_of(self.folder / base / "tiny/v1") for base in ["calm", "farm"])
        for name in (n for n in calm if n.endswith((".bgeo", ".abc", ".vdb"))):
            self.assertEqual(farm[name], calm[name], name)

    def log(self, job):
        return "".join(p.read_text() for p in (self.folder / job / "logs").glob("*simulate*"))


if __name__ == "__main__":
    cli_support.main()
