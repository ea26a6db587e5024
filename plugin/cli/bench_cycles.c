/// Cycles on the grid of `firn bench render`, in Blender's own process.
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include "firn/file.h"

#include <stdio.h>
#include <stdlib.h>

// Two pictures with other seeds tell the noise; the second one is timed, so that nothing is loaded
// for the first time.
static const char script[] =
    "import bpy, json, sys, time\n"
    "import numpy as np\n"
    "f = sys.argv[-1]; s = json.load(open(f + '/firn_bench.json'))\n"
    "z = lambda v: (v[0], -v[2], v[1])\n"
    "bpy.ops.wm.read_factory_settings(use_empty=True)\n"
    "import mathutils\n"
    "sc = bpy.context.scene\n"
    "bpy.ops.object.volume_import(filepath=f + '/firn_bench.vdb')\n"
    "ob = bpy.context.object\n"
    "ob.rotation_euler = (1.5707963267948966, 0, 0)\n"
    "ob.data.render.space = 'WORLD'\n"
    "m = bpy.data.materials.new('snow'); m.use_nodes = True; t = m.node_tree; t.nodes.clear()\n"
    "v = t.nodes.new('ShaderNodeVolumePrincipled'); o = t.nodes.new('ShaderNodeOutputMaterial')\n"
    "t.links.new(v.outputs[0], o.inputs['Volume'])\n"
    "v.inputs['Color'].default_value = (*s['albedo'], 1)\n"
    "v.inputs['Density'].default_value = s['extinction']\n"
    "v.inputs['Anisotropy'].default_value = s['g']\n"
    "v.inputs['Absorption Color'].default_value = (0, 0, 0, 1)\n"
    "ob.data.materials.append(m)\n"
    "l = bpy.data.lights.new('sun', 'SUN'); l.energy = 1; l.color = s['sun']; l.angle = "
    "s['angle']\n"
    "lo = bpy.data.objects.new('sun', l); sc.collection.objects.link(lo)\n"
    "lo.rotation_euler = mathutils.Vector(z(s['to_sun'])).to_track_quat('Z', 'Y').to_euler()\n"
    "w = bpy.data.worlds.new('sky'); sc.world = w; w.use_nodes = True\n"
    "w.node_tree.nodes['Background'].inputs[0].default_value = (*s['sky'], 1)\n"
    "c = bpy.data.cameras.new('c'); c.sensor_fit = 'VERTICAL'; c.angle_y = s['fov']\n"
    "co = bpy.data.objects.new('c', c); sc.collection.objects.link(co); sc.camera = co\n"
    "p = mathutils.Vector(z(s['position'])); q = mathutils.Vector(z(s['target']))\n"
    "co.location = p; co.rotation_euler = (q - p).to_track_quat('-Z', 'Y').to_euler()\n"
    "sc.render.engine = 'CYCLES'; y = sc.cycles\n"
    "y.samples = s['samples']; y.use_adaptive_sampling = False; y.use_denoising = False\n"
    "y.max_bounces = y.volume_bounces = s['bounces']\n"
    "sc.render.resolution_x, sc.render.resolution_y = s['size']\n"
    "sc.render.resolution_percentage = 100; sc.render.threads_mode = 'FIXED'\n"
    "sc.render.threads = 2; sc.render.image_settings.file_format = 'OPEN_EXR'\n"
    "pic = []\n"
    "for seed in (0, 1):\n"
    "    y.seed = seed; sc.render.filepath = f + '/firn_bench.exr'; a = time.time()\n"
    "    bpy.ops.render.render(write_still=True); a = time.time() - a\n"
    "    i = bpy.data.images.load(f + '/firn_bench.exr', check_existing=False)\n"
    "    pic.append(np.array(i.pixels[:]).reshape(-1, 4)[:, :3] @ (0.2126, 0.7152, 0.0722))\n"
    "n = np.sqrt(np.mean((pic[0] - pic[1])**2) / 2) / np.mean(pic)\n"
    "print('CYCLES', a, n)\n";

bool firn_bench_has_blender(void) { return system("command -v blender >/dev/null 2>&1") == 0; }

static bool write_text(const char *folder, const char *name, const char *text)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.2000s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    fputs(text, file);
    return fclose(file) == 0;
}

static void remove_file(const char *folder, const char *name)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.2000s/%s", folder, name);
    remove(path);
}

bool firn_bench_cycles(const char *folder, const char *settings, double *seconds, double *noise)
{
    char command[3 * FIRN_PATH_SIZE], line[1024];
    bool found = false;
    if (!write_text(folder, "firn_bench.py", script) ||
        !write_text(folder, "firn_bench.json", settings))
        return false;
    snprintf(
        command, sizeof command,
        "blender -b --factory-startup -noaudio --python-exit-code 1 -P '%.2000s/firn_bench.py' "
        "-- '%.2000s' 2>/dev/null",
        folder, folder);
    FILE *output = popen(command, "r");
    while (output != NULL && fgets(line, sizeof line, output) != NULL)
        found |= sscanf(line, "CYCLES %lf %lf", seconds, noise) == 2;
    bool fine = output != NULL && pclose(output) == 0 && found;
    remove_file(folder, "firn_bench.py");
    remove_file(folder, "firn_bench.json");
    remove_file(folder, "firn_bench.exr");
    return fine;
}
