#include "firn/usd_stage.h"

#include "stage_parts.h"
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 256 };

void firn_usd_name(const char *text, char *name, size_t size)
{
    size_t length = 0;
    if (isdigit((unsigned char)text[0]) || text[0] == '\0')
        name[length++] = '_';
    for (; *text != '\0' && length + 1 < size; text++)
        name[length++] = isalnum((unsigned char)*text) && (unsigned char)*text < 128 ? *text : '_';
    name[length] = '\0';
}

void firn_usd_points_path(const char *stage, char *path, size_t size)
{
    char name[NAME_SIZE];
    firn_usd_name(stage, name, sizeof name);
    snprintf(path, size, "/%s/particles", name);
}

// --- Layer ---------------------------------------------------------------------------------------

static void put_layer(firn_crate_bytes *out, const firn_usd_stage *stage, const char *name)
{
    char fps[FIRN_USD_NUMBER];
    firn_usd_number(stage->fps, fps);
    firn_usd_put(out, 0, "#usda 1.0\n(\n");
    firn_usd_put(out, 1, "customLayerData = {\n");
    firn_usd_put(out, 2, "dictionary firn = {\n");
    firn_usd_put(out, 3, "string graph = ");
    firn_usd_put_quoted(out, stage->hash);
    firn_usd_put(out, 0, "\n");
    firn_usd_put(out, 3, "string program = ");
    firn_usd_put_quoted(out, stage->program);
    firn_usd_put(out, 0, "\n");
    firn_usd_put(out, 3, "string units = \"m kg s\"\n");
    firn_usd_put(out, 2, "}\n");
    firn_usd_put(out, 1, "}\n");
    firn_usd_put(out, 1, "defaultPrim = \"%s\"\n", name);
    firn_usd_put(out, 1, "endTimeCode = %d\n", stage->last);
    firn_usd_put(out, 1, "framesPerSecond = %s\n", fps);
    firn_usd_put(out, 1, "metersPerUnit = 1\n");
    firn_usd_put(out, 1, "startTimeCode = %d\n", stage->first);
    firn_usd_put(out, 1, "timeCodesPerSecond = %s\n", fps);
    firn_usd_put(out, 1, "upAxis = \"Y\"\n)\n\n");
}

// --- Volume --------------------------------------------------------------------------------------

static void put_grid(firn_crate_bytes *out, const firn_usd_stage *stage, const firn_usd_grid *grid)
{
    char name[NAME_SIZE];
    firn_usd_name(grid->name, name, sizeof name);
    firn_usd_put(out, 0, "\n");
    firn_usd_put(out, 2, "def OpenVDBAsset \"%s\"\n", name);
    firn_usd_put(out, 2, "{\n");
    firn_usd_put(out, 3, "token fieldClass = \"%s\"\n", grid->class_name);
    firn_usd_put(out, 3, "token fieldDataType = \"%s\"\n", grid->data_type);
    firn_usd_put(out, 3, "token fieldName = \"%s\"\n", grid->name);
    if (grid->is_vector)
        firn_usd_put(out, 3, "token vectorDataRoleHint = \"Vector\"\n");
    firn_usd_put(out, 3, "asset filePath.timeSamples = {\n");
    for (size_t i = 0; i < stage->volume_count; i++)
        firn_usd_put(out, 4, "%d: @./%s@,\n", stage->volumes[i].frame, stage->volumes[i].file);
    firn_usd_put(out, 3, "}\n");
    firn_usd_put(out, 2, "}\n");
}

static void put_volume(firn_crate_bytes *out, const firn_usd_stage *stage, const char *name)
{
    firn_usd_put(out, 1, "def Volume \"volume\" (\n");
    firn_usd_put(out, 2, "prepend apiSchemas = [\"MaterialBindingAPI\"]\n");
    firn_usd_put(out, 1, ")\n");
    firn_usd_put(out, 1, "{\n");
    firn_usd_put(out, 2, "float3[] extent.timeSamples = {\n");
    for (size_t i = 0; i < stage->volume_count; i++) {
        firn_usd_put(out, 3, "%d: [", stage->volumes[i].frame);
        firn_usd_put_vec3(out, stage->volumes[i].lower);
        firn_usd_put(out, 0, ", ");
        firn_usd_put_vec3(out, stage->volumes[i].upper);
        firn_usd_put(out, 0, "],\n");
    }
    firn_usd_put(out, 2, "}\n");
    for (size_t i = 0; i < stage->grid_count; i++) {
        const firn_usd_grid *grid = &stage->grids[i];
        char field[NAME_SIZE];
        firn_usd_name(grid->name, field, sizeof field);
        firn_usd_put(out, 2, "rel field:%s = </%s/volume/%s>\n", field, name, field);
        // Houdini's name is vel; Cycles takes motion from `velocity` only.
        if (strcmp(field, "vel") == 0)
            firn_usd_put(out, 2, "rel field:velocity = </%s/volume/vel>\n", name);
    }
    firn_usd_put(out, 2, "rel material:binding = </%s/materials/snow_volume>\n", name);
    for (size_t i = 0; i < stage->grid_count; i++)
        put_grid(out, stage, &stage->grids[i]);
    firn_usd_put(out, 1, "}\n\n");
}

// --- Particles -----------------------------------------------------------------------------------

// Attributes without a value: one here would hide those of the clips.
static void put_columns(firn_crate_bytes *out, const firn_usd_stage *stage, int indent)
{
    firn_usd_put(out, indent, "float3[] extent\n");
    for (size_t i = 0; i < stage->points->attribute_count; i++) {
        const firn_attribute *column = &stage->points->attributes[i];
        char name[NAME_SIZE];
        const char *type;
        if (!firn_usd_attribute(column, name, sizeof name, &type))
            continue;
        bool is_primvar = strncmp(name, "primvars:", 9) == 0 || strcmp(name, "widths") == 0;
        int parts = strchr(type, '3') != NULL ? 3 : 1;
        firn_usd_put(out, indent, "%s %s", type, name);
        if (is_primvar && column->tuple_size > parts)
            firn_usd_put(out, 0, " (\n%*selementSize = %d\n%*sinterpolation = \"vertex\"\n%*s)",
                         4 * (indent + 1), "", column->tuple_size / parts, 4 * (indent + 1), "",
                         4 * indent, "");
        else if (is_primvar)
            firn_usd_put(out, 0, " (\n%*sinterpolation = \"vertex\"\n%*s)", 4 * (indent + 1), "",
                         4 * indent, "");
        firn_usd_put(out, 0, "\n");
    }
}

static void put_particles(firn_crate_bytes *out, const firn_usd_stage *stage, const char *name)
{
    firn_usd_put(out, 1, "def Points \"particles\" (\n");
    firn_usd_put(out, 2, "prepend apiSchemas = [\"MaterialBindingAPI\"]\n");
    firn_usd_put(out, 2, "clips = {\n");
    firn_usd_put(out, 3, "dictionary default = {\n");
    firn_usd_put(out, 4, "asset manifestAssetPath = @%s@\n", stage->clip_manifest);
    firn_usd_put(out, 4, "string primPath = \"/%s/particles\"\n", name);
    firn_usd_put(out, 4, "string templateAssetPath = \"%s\"\n", stage->clips);
    firn_usd_put(out, 4, "double templateEndTime = %d\n", stage->last);
    firn_usd_put(out, 4, "double templateStartTime = %d\n", stage->first);
    firn_usd_put(out, 4, "double templateStride = 1\n");
    firn_usd_put(out, 3, "}\n");
    firn_usd_put(out, 2, "}\n");
    firn_usd_put(out, 1, ")\n");
    firn_usd_put(out, 1, "{\n");
    put_columns(out, stage, 2);
    firn_usd_put(out, 2, "rel material:binding = </%s/materials/snow_grains>\n", name);
    firn_usd_put(out, 1, "}\n\n");
}

firn_result firn_usd_write_clip_manifest(const char *path, const firn_usd_stage *stage,
                                         firn_error *error)
{
    firn_crate_bytes out = {0};
    char name[NAME_SIZE];
    firn_usd_name(stage->name, name, sizeof name);
    put_layer(&out, stage, name);
    firn_usd_put(&out, 0, "over \"%s\"\n{\n", name);
    firn_usd_put(&out, 1, "over \"particles\"\n");
    firn_usd_put(&out, 1, "{\n");
    put_columns(&out, stage, 2);
    firn_usd_put(&out, 1, "}\n}\n");
    return firn_usd_save(&out, path, error);
}

firn_result firn_usd_write_stage(const char *path, const firn_usd_stage *stage, firn_error *error)
{
    firn_crate_bytes out = {0};
    char name[NAME_SIZE];
    firn_usd_name(stage->name, name, sizeof name);
    put_layer(&out, stage, name);
    firn_usd_put(&out, 0, "def Xform \"%s\" (\n", name);
    firn_usd_put(&out, 1, "kind = \"component\"\n)\n{\n");
    if (stage->grid_count > 0 && stage->volume_count > 0)
        put_volume(&out, stage, name);
    if (stage->points != NULL)
        put_particles(&out, stage, name);
    if (stage->solid_count > 0)
        firn_usd_put_solids(&out, stage);
    firn_usd_put_materials(&out, stage, name);
    firn_usd_put(&out, 0, "}\n");
    return firn_usd_save(&out, path, error);
}
