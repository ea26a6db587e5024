// Transforms of prims: the operations of xformOpOrder, the first of them the outermost.
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double DEGREE = 0.017453292519943295;

firn_usd_matrix firn_usd_matrix_identity(void)
{
    return (firn_usd_matrix){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
}

firn_usd_matrix firn_usd_matrix_mul(const firn_usd_matrix *a, const firn_usd_matrix *b)
{
    firn_usd_matrix product;
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            double sum = 0.0;
            for (int k = 0; k < 4; k++)
                sum += a->m[4 * row + k] * b->m[4 * k + column];
            product.m[4 * row + column] = sum;
        }
    return product;
}

double firn_usd_matrix_det(const firn_usd_matrix *a)
{
    const double *m = a->m;
    return m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
           m[2] * (m[4] * m[9] - m[5] * m[8]);
}

// Of affine matrices.
bool firn_usd_matrix_invert(const firn_usd_matrix *a, firn_usd_matrix *inverse)
{
    const double *m = a->m;
    double det = firn_usd_matrix_det(a);
    if (!(fabs(det) > 1e-300) || !isfinite(det))
        return false;
    *inverse = firn_usd_matrix_identity();
    double *n = inverse->m;
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            // The cofactor of the transposed place.
            int r0 = (column + 1) % 3, r1 = (column + 2) % 3, c0 = (row + 1) % 3,
                c1 = (row + 2) % 3;
            n[4 * row + column] =
                (m[4 * r0 + c0] * m[4 * r1 + c1] - m[4 * r0 + c1] * m[4 * r1 + c0]) / det;
        }
    for (int k = 0; k < 3; k++)
        n[12 + k] = -(m[12] * n[k] + m[13] * n[4 + k] + m[14] * n[8 + k]);
    return true;
}

firn_vec3 firn_usd_matrix_vector(const firn_usd_matrix *a, firn_vec3 v)
{
    const double *m = a->m, x = (double)v.x, y = (double)v.y, z = (double)v.z;
    return firn_vec((float)(x * m[0] + y * m[4] + z * m[8]),
                    (float)(x * m[1] + y * m[5] + z * m[9]),
                    (float)(x * m[2] + y * m[6] + z * m[10]));
}

firn_vec3 firn_usd_matrix_point(const firn_usd_matrix *a, firn_vec3 p)
{
    const double *m = a->m, x = (double)p.x, y = (double)p.y, z = (double)p.z;
    return firn_vec((float)(x * m[0] + y * m[4] + z * m[8] + m[12]),
                    (float)(x * m[1] + y * m[5] + z * m[9] + m[13]),
                    (float)(x * m[2] + y * m[6] + z * m[10] + m[14]));
}

firn_usd_matrix firn_usd_matrix_turn(const double q[4])
{
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 0.0) || !isfinite(length))
        return firn_usd_matrix_identity();
    double x = q[0] / length, y = q[1] / length, z = q[2] / length, w = q[3] / length;
    return (firn_usd_matrix){{1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0,
                              2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0,
                              2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0,
                              0, 0, 0, 1}};
}

// Text begins with the real part, crates end with it.
void firn_usd_quaternion(const firn_usd_scene *scene, int prim, const char *name,
                         firn_usd_numbers *numbers)
{
    firn_usd_attribute_view view = firn_usd_find_attribute(scene, prim, name);
    if (view.doc == NULL || !view.doc->is_text || numbers->kind != FIRN_USD_F64)
        return;
    for (size_t i = 0; i < numbers->count && numbers->tuple == 4; i++) {
        double *q = (double *)numbers->data + 4 * i, real = q[0];
        q[0] = q[1];
        q[1] = q[2];
        q[2] = q[3];
        q[3] = real;
    }
}

static firn_usd_matrix turn_about(int axis, double degrees)
{
    double q[4] = {0, 0, 0, cos(0.5 * degrees * DEGREE)};
    q[axis] = sin(0.5 * degrees * DEGREE);
    return firn_usd_matrix_turn(q);
}

// "rotateZYX" turns about z first.
static firn_usd_matrix turn_in_order(const char *axes, const double *degrees)
{
    firn_usd_matrix m = firn_usd_matrix_identity();
    for (; *axes >= 'X' && *axes <= 'Z'; axes++) {
        firn_usd_matrix next = turn_about(*axes - 'X', degrees[*axes - 'X']);
        m = firn_usd_matrix_mul(&m, &next);
    }
    return m;
}

// The matrix of an operation, "rotateXYZ" and its numbers; false: they do not fit each other.
static bool matrix_of(const char *kind, const firn_usd_numbers *numbers, firn_usd_matrix *m)
{
    const double *v = numbers->data;
    *m = firn_usd_matrix_identity();
    if (numbers->count != 1)
        return false;
    if (strncmp(kind, "transform", 9) == 0 && numbers->tuple == 16) {
        memcpy(m->m, v, sizeof m->m);
    } else if (strncmp(kind, "translate", 9) == 0 && numbers->tuple == 3) {
        memcpy(m->m + 12, v, 3 * sizeof *v);
    } else if (strncmp(kind, "scale", 5) == 0 && numbers->tuple == 3) {
        for (int k = 0; k < 3; k++)
            m->m[5 * k] = v[k];
    } else if (strncmp(kind, "orient", 6) == 0 && numbers->tuple == 4) {
        *m = firn_usd_matrix_turn(v);
    } else if (strncmp(kind, "rotate", 6) == 0 && numbers->tuple == 1) {
        *m = turn_about(kind[6] >= 'X' && kind[6] <= 'Z' ? kind[6] - 'X' : 0, v[0]);
    } else if (strncmp(kind, "rotate", 6) == 0 && numbers->tuple == 3) {
        *m = turn_in_order(kind + 6, v);
    } else {
        return false;
    }
    return true;
}

static firn_result apply(const firn_usd_scene *scene, int prim, const char *name, double code,
                         firn_usd_matrix *matrix, firn_error *error)
{
    bool inverts = strncmp(name, "!invert!", 8) == 0;
    name += inverts ? 8 : 0;
    if (strncmp(name, "xformOp:", 8) != 0)
        return FIRN_OK;
    firn_usd_numbers numbers;
    FIRN_TRY(firn_usd_numbers_at(scene, prim, name, code, FIRN_USD_F64, &numbers, error));
    firn_usd_quaternion(scene, prim, name, &numbers);
    firn_usd_matrix m, inverse;
    bool fits = numbers.count == 0 || matrix_of(name + 8, &numbers, &m);
    bool empty = numbers.count == 0;
    firn_free(numbers.data);
    if (empty)
        return FIRN_OK;
    if (fits && inverts) {
        fits = firn_usd_matrix_invert(&m, &inverse);
        m = inverse;
    }
    if (!fits) {
        char text[160];
        snprintf(text, sizeof text, "its transform '%.80s' cannot be understood", name);
        return firn_usd_fail_prim(scene, prim, text, error);
    }
    *matrix = firn_usd_matrix_mul(&m, matrix);
    return FIRN_OK;
}

static firn_result local_matrix(const firn_usd_scene *scene, int prim, double code,
                                firn_usd_matrix *matrix, bool *resets, firn_error *error)
{
    *matrix = firn_usd_matrix_identity();
    *resets = false;
    firn_usd_attribute_view order = firn_usd_find_attribute(scene, prim, "xformOpOrder");
    const char **names = NULL;
    size_t count = 0;
    if (order.doc == NULL)
        return FIRN_OK;
    FIRN_TRY(firn_usd_doc_words(order.doc, order.property->value, &names, &count, error));
    firn_result result = FIRN_OK;
    for (size_t i = 0; i < count && result == FIRN_OK; i++) {
        if (strcmp(names[i], "!resetXformStack!") == 0)
            *resets = true;
        else
            result = apply(scene, prim, names[i], code, matrix, error);
    }
    firn_free((void *)names);
    return result;
}

firn_result firn_usd_world_matrix(const firn_usd_scene *scene, int prim, double code,
                                  firn_usd_matrix *matrix, firn_error *error)
{
    *matrix = firn_usd_matrix_identity();
    for (int i = prim; i > 0; i = scene->prims[i].parent) {
        firn_usd_matrix local;
        bool resets;
        FIRN_TRY(local_matrix(scene, i, code, &local, &resets, error));
        *matrix = firn_usd_matrix_mul(matrix, &local);
        if (resets)
            break;
    }
    for (int k = 0; k < 16; k++)
        if (!isfinite(matrix->m[k]))
            return firn_usd_fail_prim(scene, prim, "its transform is not finite", error);
    return FIRN_OK;
}

void firn_usd_add_moving_range(const firn_usd_scene *scene, int prim, double *first, double *last,
                               bool *any)
{
    for (int i = prim; i > 0; i = scene->prims[i].parent)
        for (int o = scene->prims[i].first_opinion; o >= 0; o = scene->opinions[o].next) {
            const firn_usd_opinion *from = &scene->opinions[o];
            const firn_usd_doc *doc = scene->docs[from->doc];
            for (int k = doc->specs[from->spec].first_property; k >= 0; k = doc->properties[k].next)
                if (strncmp(doc->properties[k].name, "xformOp:", 8) == 0)
                    firn_usd_add_range(scene, i, doc->properties[k].name, first, last, any);
        }
}

firn_result firn_usd_world_rate(const firn_usd_scene *scene, int prim, double code,
                                firn_usd_matrix *rate, bool *moves, firn_error *error)
{
    double first = 0.0, last = 0.0;
    memset(rate, 0, sizeof *rate);
    *moves = false;
    firn_usd_add_moving_range(scene, prim, &first, &last, moves);
    // Half a frame to both sides, as far as there is motion.
    double step = 0.5 * scene->codes_per_second / 24.0;
    double from = fmax(code - step, first), to = fmin(code + step, last);
    if (!*moves || !(to > from))
        return FIRN_OK;
    firn_usd_matrix before, after;
    FIRN_TRY(firn_usd_world_matrix(scene, prim, from, &before, error));
    FIRN_TRY(firn_usd_world_matrix(scene, prim, to, &after, error));
    for (int k = 0; k < 16; k++)
        rate->m[k] = (after.m[k] - before.m[k]) * scene->codes_per_second / (to - from);
    return FIRN_OK;
}

bool firn_usd_is_hidden(const firn_usd_scene *scene, int prim, double code)
{
    const char *purpose = "";
    for (int i = prim; i > 0; i = scene->prims[i].parent) {
        if (strcmp(firn_usd_word_at(scene, i, "visibility", code), "invisible") == 0)
            return true;
        if (purpose[0] == '\0')
            purpose = firn_usd_word_at(scene, i, "purpose", code);
    }
    return strcmp(purpose, "guide") == 0 || strcmp(purpose, "proxy") == 0;
}
