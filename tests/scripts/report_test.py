#!/usr/bin/env python3
"""Makes reports and opens them in a browser. Usage: report_test.py PROGRAM [unittest arguments]"""

import html.parser
import json
import re
import shutil
import struct
import subprocess
import zlib

import cli_support

HOSTILE = '</title><script>console.error("got in")</script><img src=x onerror=alert(1)>"\'&'
PLOTS = ["Wall time", "Substeps", "Iterations", "Energy", "Highest speed", "Particles",
         "Plastic volume ratio", "Memory", "Length of the last substep", "Files",
         "Force of the snow on ground", "Torque of the snow on ground, about its pivot"]
VOID = {"meta", "link", "img"}


class Page(html.parser.HTMLParser):
    """A page taken apart: its elements, and its texts by the element that they are in."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text()
        self.open, self.elements, self.texts = [], [], []
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open}"
        self.open.pop()

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data.strip()))

    def all(self, tag, **attributes):
        return [a for t, a in self.elements if t == tag and
                all(a.get(k.rstrip("_")) == v for k, v in attributes.items())]

    def text(self):
        return "\n".join(t for _, t in self.texts)


def pixels(path):
    """The size of a PNG and how many different rows of bytes it has."""
    data = path.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    packed, at = b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    raw = zlib.decompress(packed)
    stride = len(raw) // height
    return width, height, len({raw[i * stride:(i + 1) * stride] for i in range(height)})


class Report(cli_support.Firn):
    def report(self, folder, name="report.html"):
        self.firn("report", folder, "-o", name)
        page = Page(self.folder / name)
        self.assertEqual(page.open, [], "every element is closed")
        return page

    def cook_tiny(self, *words):
        self.firn("cook", self.scene, "--quiet", *words)
        return self.folder / "cache/tiny/v1"

    def browse(self, name, *flags):
        """What the browser makes of a page, and what it says to its console."""
        browser = shutil.which("chromium")
        self.assertIsNotNone(browser, "the package chromium is needed")
        done = subprocess.run(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
             f"--user-data-dir={self.folder / 'browser'}", "--virtual-time-budget=2000", *flags,
             (self.folder / name).as_uri()],
            capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, re.findall(r".*CONSOLE.*", done.stderr)

    def test_a_page_has_plots_pictures_and_settings(self):
        page = self.report(self.cook_tiny())
        captions = page.text()
        for title in PLOTS:
            self.assertIn(title, captions)
        self.assertEqual(len(page.all("svg")), len(PLOTS))
        self.assertEqual(len(page.all("img")), 5)
        for image in page.all("img"):
            self.assertTrue(image["src"].startswith("data:image/png;base64,iVBOR"))
            self.assertTrue(image["alt"].startswith("Frame "))
        self.assertIn("complete", [t for tag, t in page.texts if tag == "span"])
        for text in ("cell_size", "0.05 m", "Snow solver", "A small ball falls on the floor"):
            self.assertIn(text, captions)

    def test_the_page_says_what_became_of_the_snow(self):
        text = self.report(self.cook_tiny()).text()
        self.assertIn("What became of the snow from frame 1 to 5", text)
        self.assertIn("share of the snow in pieces", text)

    def test_plots_draw_the_numbers_of_the_manifest(self):
        folder = self.cook_tiny()
        page = self.report(folder)
        frames = json.loads(self.firn("info", folder, "--json"))["frames"]
        drawn = {}
        for figure in page.all("figure"):
            if "data-values" in figure:
                values = json.loads(figure["data-values"])
                self.assertEqual(values["frames"], [f["frame"] for f in frames])
                drawn.update({s["label"]: s["values"] for s in values["series"]})
        for label, stat in (("particles", "particles"), ("done", "substeps"),
                            ("kinetic", "kinetic"), ("highest speed", "max_speed")):
            for value, frame in zip(drawn[label], frames):
                if value is not None:
                    self.assertAlmostEqual(value / (frame[stat] or 1.0), 1.0 * bool(frame[stat]),
                                           places=4)
        self.assertEqual(drawn["kinetic"][0], None, "nothing is known before the first substep")

    def test_nothing_is_loaded_from_elsewhere(self):
        page = self.report(self.cook_tiny())
        for tag, attributes in page.elements:
            for name in ("src", "href"):
                if name in attributes:
                    self.assertRegex(attributes[name], "^(data:|#)", tag)
        self.assertNotRegex(page.source, r"https?://|@import|url\(")
        self.assertEqual(len(page.all("script")), 1)

    def test_names_from_the_scene_are_never_markup(self):
        scene = json.loads(json.dumps(cli_support.SCENE))
        scene["comment"] = HOSTILE
        self.scene = self.write_scene("tiny.firn", scene)
        folder = self.cook_tiny()
        resolved = json.loads((folder / "resolved.firn").read_text())
        self.assertEqual(resolved["comment"], HOSTILE)
        manifest = folder / "manifest.json"
        manifest.write_text(manifest.read_text().replace(
            '"name": "tiny"', '"name": ' + json.dumps(HOSTILE)).replace(
            '"max_speed"', json.dumps('x<script>console.error(1)</script>"')))
        page = self.report(folder)
        self.assertEqual(len(page.all("script")), 1)
        self.assertEqual(len(page.all("img", src="x")), 0)
        self.assertIn(HOSTILE, page.text())
        _, said = self.browse("report.html", "--dump-dom")
        self.assertEqual(said, [])

    def test_a_browser_shows_it_without_complaint(self):
        self.report(self.cook_tiny())
        for theme in ((), ("--blink-settings=preferredColorScheme=0",)):
            picture = self.folder / "page.png"
            picture.unlink(missing_ok=True)
            _, said = self.browse("report.html", "--window-size=1200,1600", *theme,
                                  f"--screenshot={picture}")
            self.assertEqual(said, [])
            width, height, rows = pixels(picture)
            self.assertGreaterEqual(width, 1000)
            self.assertGreater(rows, height // 8, "the page is not empty")

    def test_the_script_runs_and_answers_the_pointer(self):
        page = self.report(self.cook_tiny())
        probe = ("<script>const s=document.querySelector('svg'),r=s.getBoundingClientRect();"
                 "s.querySelector('rect:last-of-type').dispatchEvent(new PointerEvent("
                 "'pointermove',{bubbles:true,clientX:r.left+r.width/2,clientY:r.top+50}));"
                 "document.title=document.querySelector('.tip').textContent</script>")
        (self.folder / "probe.html").write_text(page.source.replace("</body>", probe + "</body>"))
        dom, said = self.browse("probe.html", "--dump-dom")
        self.assertEqual(said, [])
        self.assertEqual(dom.count("<svg"), len(PLOTS))
        self.assertRegex(dom, r"<title>frame 3\s+wall time +[0-9.e-]+ s</title>")

    def test_a_cache_that_is_not_finished_says_so(self):
        folder = self.cook_tiny("--frames", "1-2")
        page = self.report(folder)
        self.assertIn("incomplete", page.text())
        self.assertIn("3 of 5 frames", page.text())
        self.assertTrue(page.all("rect", class_="wait"))
        process = self.start("resume", self.scene, "--set", "last=5000", "--set",
                             "solver.checkpoint_frames=0")
        self.wait_for(process, "^frame 4 ")
        page = self.report(folder)
        self.assertIn("being written", page.text())
        self.assertIn(str(process.pid), page.text())
        process.kill()
        process.wait()
        self.assertNotIn("being written", self.report(folder).text())

    def test_a_graph_that_cannot_be_read_leaves_the_plots(self):
        folder = self.cook_tiny()
        (folder / "resolved.firn").write_text("{<b>")
        page = self.report(folder)
        self.assertIn("cannot be read", page.text())
        self.assertEqual(len(page.all("svg")), len(PLOTS))
        self.assertEqual(page.all("b", id="x"), [])

    def test_no_cache_is_a_missing_input(self):
        self.firn("report", self.folder, code=5)
        self.assertFalse((self.folder / "report.html").exists())

    def test_a_wedge_has_a_row_and_a_section_for_each_variant(self):
        self.firn("wedge", self.scene, "--vary", "snow.hardening=5,10", "--quiet", "--frames",
                  "1-3")
        page = self.report(self.folder / "cache/tiny/v1")
        links = [a["href"] for a in page.all("a")]
        self.assertEqual(links, ["#w0", "#w1"])
        self.assertEqual([a["id"] for a in page.all("section")], ["w0", "w1"])
        self.assertEqual(len(page.all("svg")), 2 * len(PLOTS))
        self.assertIn("w1, snow.hardening = 10", page.text())


if __name__ == "__main__":
    cli_support.main()
