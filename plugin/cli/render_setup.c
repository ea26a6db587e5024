/// The set-up of a picture as JSON, for other renderers (docs/render.md).
#define _POSIX_C_SOURCE 200809L
#include "json.h"
#include "render_source.h"

#include <stdlib.h>
#include <string.h>

static void print_number(FILE *file, int *members, const char *name, double value)
{
    firn_print_member_number(file, members, name, value);
}

static void print_vector(FILE *file, int *members, const char *name, firn_vec3 v)
{
    firn_print_key(file, members, name);
    fputc('[', file);
    firn_print_json_number(file, (double)v.x);
    fputs(", ", file);
    firn_print_json_number(file, (double)v.y);
    fputs(", ", file);
    firn_print_json_number(file, (double)v.z);
    fputc(']', file);
}

static void print_truth(FILE *file, int *members, const char *name, bool value)
{
    firn_print_key(file, members, name);
    fputs(value ? "true" : "false", file);
}

static void print_choice(FILE *file, int *members, const char *name, const char *row,
                         const firn_render_def *def)
{
    char text[64];
    firn_param_print(firn_params_find(firn_render_params(), row), def, text, sizeof text);
    firn_print_member_text(file, members, name, text);
}

static void begin_object(FILE *file, int *members, const char *name, int *inner)
{
    firn_print_key(file, members, name);
    fputc('{', file);
    *inner = 0;
}

static void print_camera(FILE *file, int *members, const firn_render_def *def,
                         const firn_render_setup *setup)
{
    int n;
    begin_object(file, members, "camera", &n);
    print_vector(file, &n, "position", setup->position);
    print_vector(file, &n, "target", setup->target);
    print_vector(file, &n, "up", setup->up);
    print_number(file, &n, "vertical_fov_degrees", (double)setup->field_of_view);
    print_number(file, &n, "lens_radius", (double)def->lens_radius);
    print_number(file, &n, "focus_distance", (double)setup->focus_distance);
    print_number(file, &n, "shutter_frames", (double)def->shutter);
    fputc('}', file);
}

static void print_light(FILE *file, int *members, const firn_render_def *def,
                        const firn_render_setup *setup)
{
    int n;
    begin_object(file, members, "sun", &n);
    print_vector(file, &n, "direction_to_sun", setup->sun_direction);
    print_number(file, &n, "angle_degrees", (double)def->sun_angle);
    print_vector(file, &n, "irradiance", setup->sun_irradiance);
    fputc('}', file);
    begin_object(file, members, "sky", &n);
    print_choice(file, &n, "kind", "sky", def);
    print_vector(file, &n, "zenith", setup->zenith);
    print_vector(file, &n, "horizon", setup->horizon);
    print_number(file, &n, "strength", (double)def->sky_strength);
    firn_print_member_text(file, &n, "file", def->sky_file);
    print_number(file, &n, "rotation_degrees", (double)def->sky_rotation);
    fputc('}', file);
}

static void print_material(FILE *file, int *members, const firn_render_source *source,
                           const firn_render_def *def)
{
    int n;
    double reference = (double)def->reference_density, extinction = (double)def->extinction;
    begin_object(file, members, "material", &n);
    print_number(file, &n, "sigma_t_per_density",
                 source->relative ? extinction : extinction / reference);
    firn_print_member_text(file, &n, "density_units", source->relative ? "relative" : "kg/m^3");
    print_number(file, &n, "reference_density_kg_m3", reference);
    print_vector(file, &n, "albedo", def->albedo);
    print_number(file, &n, "g", (double)def->anisotropy);
    fputc('}', file);
}

static void print_solids(FILE *file, int *members, const firn_render_source *source,
                         const firn_render_def *def)
{
    static const char *const shapes[] = {"plane", "box", "sphere", "capsule", "level_set"};
    firn_print_key(file, members, "solids");
    fputc('[', file);
    for (size_t i = 0; i < source->scene.solid_count; i++) {
        const firn_collider_def *solid = &source->scene.solids[i];
        int n = 0;
        firn_quat q = solid->pose.rotation;
        fputs(i > 0 ? ", {" : "{", file);
        firn_print_member_text(file, &n, "shape", shapes[solid->shape]);
        print_vector(file, &n, "translation", solid->pose.translation);
        print_vector(file, &n, "rotation_xyz", firn_vec(q.x, q.y, q.z));
        print_number(file, &n, "rotation_w", (double)q.w);
        print_number(file, &n, "scale", (double)solid->pose.scale);
        print_vector(file, &n, "half_size", solid->half_size);
        print_number(file, &n, "radius", (double)solid->radius);
        print_number(file, &n, "offset", (double)solid->offset);
        print_vector(file, &n, "albedo", firn_render_solid_albedo(def, &source->scene, i));
        fputc('}', file);
    }
    fputc(']', file);
}

static void print_setup(FILE *file, const firn_render_source *source, const firn_render_def *def,
                        const firn_render *render)
{
    int members = 0, n;
    firn_render_setup setup = firn_render_read_setup(render);
    fputc('{', file);
    firn_print_member_text(file, &members, "program", "firn " FIRN_VERSION);
    firn_print_member_text(file, &members, "up_axis", "y");
    firn_print_member_text(file, &members, "volume", source->volume);
    firn_print_member_text(file, &members, "grid",
                           source->grid[0] != '\0' ? source->grid : "density");
    print_number(file, &members, "frame", source->frame);
    print_number(file, &members, "fps", (double)source->fps);
    print_number(file, &members, "voxel_size", (double)source->scene.field->voxel_size);
    print_vector(file, &members, "lower", setup.lower);
    print_vector(file, &members, "upper", setup.upper);
    begin_object(file, &members, "image", &n);
    print_number(file, &n, "width", def->width);
    print_number(file, &n, "height", def->height);
    print_number(file, &n, "samples", def->samples);
    print_number(file, &n, "max_bounces", def->max_bounces);
    print_number(file, &n, "exposure_stops", (double)def->exposure);
    print_choice(file, &n, "tone", "tone", def);
    fputc('}', file);
    print_camera(file, &members, def, &setup);
    print_light(file, &members, def, &setup);
    print_material(file, &members, source, def);
    begin_object(file, &members, "ground", &n);
    print_truth(file, &n, "present", setup.has_ground);
    print_number(file, &n, "height", (double)setup.ground_height);
    print_vector(file, &n, "albedo", def->ground_albedo);
    fputc('}', file);
    print_solids(file, &members, source, def);
    fputs("}\n", file);
}

firn_result firn_render_setup_write(const char *path, const firn_render_source *source,
                                    const firn_render_def *def, const firn_render *render,
                                    firn_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot describe the picture");
    print_setup(memory, source, def, render);
    fclose(memory);
    firn_file_writer *file = NULL;
    firn_result result = firn_file_create(path, &file, error);
    if (result == FIRN_OK) {
        firn_file_write(file, text, size);
        result = firn_file_commit(file, error);
    }
    free(text);
    return result;
}
