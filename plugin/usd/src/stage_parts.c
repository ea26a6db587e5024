#include "stage_parts.h"

#include "text.h"

#include <stdio.h>
#include <string.h>

// --- Materials -----------------------------------------------------------------------------------

static firn_vec3 scaled(firn_vec3 color, double factor) { return firn_scale((float)factor, color); }

// MaterialX: coefficients per meter, times the density of the volume.
static void put_mtlx(firn_crate_bytes *out, const firn_usd_stage *stage, const char *material)
{
    firn_vec3 one = {1.0f, 1.0f, 1.0f};
    const struct {
        const char *name;
        firn_vec3 sigma;
    } parts[] = {
        {"scattering", scaled(stage->albedo, stage->extinction)},
        {"absorption", scaled(firn_sub(one, stage->albedo), stage->extinction)},
    };
    char g[FIRN_USD_NUMBER];
    firn_usd_put(out, 3, "def Shader \"density\"\n");
    firn_usd_put(out, 3, "{\n");
    firn_usd_put(out, 4, "uniform token info:id = \"ND_geompropvalue_float\"\n");
    firn_usd_put(out, 4, "string inputs:geomprop = \"density\"\n");
    firn_usd_put(out, 4, "float outputs:out\n");
    firn_usd_put(out, 3, "}\n\n");
    for (size_t i = 0; i < FIRN_COUNT(parts); i++) {
        firn_usd_put(out, 3, "def Shader \"%s\"\n", parts[i].name);
        firn_usd_put(out, 3, "{\n");
        firn_usd_put(out, 4, "uniform token info:id = \"ND_multiply_vector3FA\"\n");
        firn_usd_put(out, 4, "float3 inputs:in1 = ");
        firn_usd_put_vec3(out, parts[i].sigma);
        firn_usd_put(out, 0, "\n");
        firn_usd_put(out, 4, "float inputs:in2.connect = <%s/density.outputs:out>\n", material);
        firn_usd_put(out, 4, "float3 outputs:out\n");
        firn_usd_put(out, 3, "}\n\n");
    }
    firn_usd_put(out, 3, "def Shader \"vdf\"\n");
    firn_usd_put(out, 3, "{\n");
    firn_usd_put(out, 4, "uniform token info:id = \"ND_anisotropic_vdf\"\n");
    for (size_t i = 0; i < FIRN_COUNT(parts); i++)
        firn_usd_put(out, 4, "float3 inputs:%s.connect = <%s/%s.outputs:out>\n", parts[i].name,
                     material, parts[i].name);
    firn_usd_put(out, 4, "float inputs:anisotropy = %s\n", firn_usd_number(stage->anisotropy, g));
    firn_usd_put(out, 4, "token outputs:out\n");
    firn_usd_put(out, 3, "}\n\n");
    firn_usd_put(out, 3, "def Shader \"volume\"\n");
    firn_usd_put(out, 3, "{\n");
    firn_usd_put(out, 4, "uniform token info:id = \"ND_volume\"\n");
    firn_usd_put(out, 4, "token inputs:vdf.connect = <%s/vdf.outputs:out>\n", material);
    firn_usd_put(out, 4, "token outputs:out\n");
    firn_usd_put(out, 3, "}\n\n");
}

static void put_arnold(firn_crate_bytes *out, const firn_usd_stage *stage)
{
    char number[FIRN_USD_NUMBER];
    firn_usd_put(out, 3, "def Shader \"arnold\"\n");
    firn_usd_put(out, 3, "{\n");
    firn_usd_put(out, 4, "uniform token info:id = \"arnold:standard_volume\"\n");
    firn_usd_put(out, 4, "float inputs:density = %s\n", firn_usd_number(stage->extinction, number));
    firn_usd_put(out, 4, "string inputs:density_channel = \"density\"\n");
    firn_usd_put(out, 4, "float inputs:scatter = 1\n");
    firn_usd_put(out, 4, "float inputs:scatter_anisotropy = %s\n",
                 firn_usd_number(stage->anisotropy, number));
    firn_usd_put(out, 4, "color3f inputs:scatter_color = ");
    firn_usd_put_vec3(out, stage->albedo);
    firn_usd_put(out, 0, "\n");
    firn_usd_put(out, 4, "token outputs:out\n");
    firn_usd_put(out, 3, "}\n");
}

static void put_snow_volume(firn_crate_bytes *out, const firn_usd_stage *stage, const char *name)
{
    char material[512];
    snprintf(material, sizeof material, "/%s/materials/snow_volume", name);
    firn_usd_put(out, 2, "def Material \"snow_volume\"\n");
    firn_usd_put(out, 2, "{\n");
    firn_usd_put(out, 3, "token outputs:arnold:volume.connect = <%s/arnold.outputs:out>\n",
                 material);
    firn_usd_put(out, 3, "token outputs:mtlx:volume.connect = <%s/volume.outputs:out>\n\n",
                 material);
    put_mtlx(out, stage, material);
    put_arnold(out, stage);
    firn_usd_put(out, 2, "}\n\n");
}

// What every viewer knows.
static void put_preview(firn_crate_bytes *out, const char *name, const char *material,
                        const char *color)
{
    firn_usd_put(out, 2, "def Material \"%s\"\n", material);
    firn_usd_put(out, 2, "{\n");
    firn_usd_put(out, 3,
                 "token outputs:surface.connect = </%s/materials/%s/preview.outputs:surface>\n\n",
                 name, material);
    firn_usd_put(out, 3, "def Shader \"preview\"\n");
    firn_usd_put(out, 3, "{\n");
    firn_usd_put(out, 4, "uniform token info:id = \"UsdPreviewSurface\"\n");
    firn_usd_put(out, 4, "color3f inputs:diffuseColor = %s\n", color);
    firn_usd_put(out, 4, "float inputs:roughness = 0.9\n");
    firn_usd_put(out, 4, "token outputs:surface\n");
    firn_usd_put(out, 3, "}\n");
    firn_usd_put(out, 2, "}\n");
}

void firn_usd_put_materials(firn_crate_bytes *out, const firn_usd_stage *stage, const char *name)
{
    firn_usd_put(out, 1, "def Scope \"materials\"\n");
    firn_usd_put(out, 1, "{\n");
    if (stage->grid_count > 0)
        put_snow_volume(out, stage, name);
    put_preview(out, name, "snow_grains", "(0.9, 0.93, 0.97)");
    firn_usd_put(out, 1, "}\n");
}

// --- Colliders -----------------------------------------------------------------------------------

static const char *const types[] = {"Plane", "Cube", "Sphere", "Capsule"};

static void put_shape(firn_crate_bytes *out, const firn_usd_solid *solid)
{
    char a[FIRN_USD_NUMBER], b[FIRN_USD_NUMBER];
    float r = solid->radius;
    firn_vec3 reach = {r, r, r};
    switch (solid->shape) {
    case FIRN_USD_PLANE:
        firn_usd_put(out, 3, "uniform token axis = \"Y\"\n");
        firn_usd_put(out, 3, "double width = %s\n",
                     firn_usd_number(2.0 * (double)solid->size.x, a));
        firn_usd_put(out, 3, "double length = %s\n",
                     firn_usd_number(2.0 * (double)solid->size.z, a));
        reach = (firn_vec3){solid->size.x, 0.0f, solid->size.z};
        break;
    case FIRN_USD_CUBE:
        firn_usd_put(out, 3, "double size = 2\n");
        reach = (firn_vec3){1.0f, 1.0f, 1.0f};
        break;
    case FIRN_USD_SPHERE:
        firn_usd_put(out, 3, "double radius = %s\n", firn_usd_number((double)r, a));
        break;
    case FIRN_USD_CAPSULE:
        firn_usd_put(out, 3, "uniform token axis = \"Y\"\n");
        firn_usd_put(out, 3, "double height = %s\n",
                     firn_usd_number(2.0 * (double)solid->size.y, a));
        firn_usd_put(out, 3, "double radius = %s\n", firn_usd_number((double)r, b));
        reach.y += solid->size.y;
        break;
    }
    firn_usd_put(out, 3, "float3[] extent = [");
    firn_usd_put_vec3(out, firn_scale(-1.0f, reach));
    firn_usd_put(out, 0, ", ");
    firn_usd_put_vec3(out, reach);
    firn_usd_put(out, 0, "]\n");
}

static void put_turn(firn_crate_bytes *out, firn_quat q)
{
    char w[FIRN_USD_NUMBER], x[FIRN_USD_NUMBER], y[FIRN_USD_NUMBER], z[FIRN_USD_NUMBER];
    firn_usd_put(out, 0, "(%s, %s, %s, %s)", firn_usd_number((double)q.w, w),
                 firn_usd_number((double)q.x, x), firn_usd_number((double)q.y, y),
                 firn_usd_number((double)q.z, z));
}

typedef void put_pose(firn_crate_bytes *out, const firn_usd_solid *solid, size_t pose);

static void put_place(firn_crate_bytes *out, const firn_usd_solid *solid, size_t pose)
{
    firn_usd_put_vec3(out, solid->poses[pose].translation);
}

static void put_orientation(firn_crate_bytes *out, const firn_usd_solid *solid, size_t pose)
{
    put_turn(out, solid->poses[pose].rotation);
}

static void put_size(firn_crate_bytes *out, const firn_usd_solid *solid, size_t pose)
{
    float s = solid->poses[pose].scale;
    firn_vec3 size = {s, s, s};
    if (solid->shape == FIRN_USD_CUBE)
        size = firn_scale(s, solid->size);
    firn_usd_put_vec3(out, size);
}

static void put_operation(firn_crate_bytes *out, const firn_usd_solid *solid, const char *what,
                          put_pose *put)
{
    if (solid->pose_count == 1) {
        firn_usd_put(out, 3, "%s = ", what);
        put(out, solid, 0);
        firn_usd_put(out, 0, "\n");
        return;
    }
    firn_usd_put(out, 3, "%s.timeSamples = {\n", what);
    for (size_t i = 0; i < solid->pose_count; i++) {
        char frame[FIRN_USD_NUMBER];
        firn_usd_put(out, 4, "%s: ", firn_usd_number(solid->frames[i], frame));
        put(out, solid, i);
        firn_usd_put(out, 0, ",\n");
    }
    firn_usd_put(out, 3, "}\n");
}

void firn_usd_put_solids(firn_crate_bytes *out, const firn_usd_stage *stage)
{
    firn_usd_put(out, 1, "def Scope \"colliders\"\n");
    firn_usd_put(out, 1, "{\n");
    for (size_t i = 0; i < stage->solid_count; i++) {
        const firn_usd_solid *solid = &stage->solids[i];
        char name[256];
        firn_usd_name(solid->name, name, sizeof name);
        firn_usd_put(out, 2, "def %s \"%s\"\n", types[solid->shape], name);
        firn_usd_put(out, 2, "{\n");
        put_shape(out, solid);
        firn_usd_put(out, 3, "uniform token purpose = \"proxy\"\n");
        put_operation(out, solid, "double3 xformOp:translate", put_place);
        put_operation(out, solid, "quatf xformOp:orient", put_orientation);
        put_operation(out, solid, "float3 xformOp:scale", put_size);
        firn_usd_put(out, 3,
                     "uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\", "
                     "\"xformOp:scale\"]\n");
        firn_usd_put(out, 2, "}\n");
    }
    firn_usd_put(out, 1, "}\n\n");
}
