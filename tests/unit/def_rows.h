/// Laws that hold for the table of any def struct.
#ifndef FIRN_TESTS_DEF_ROWS_H
#define FIRN_TESTS_DEF_ROWS_H

#include "firn/params.h"
#include "firn/vec.h"

static inline size_t size_of_row(const firn_param *param)
{
    static const size_t sizes[] = {[FIRN_BOOL] = sizeof(bool),      [FIRN_INT] = sizeof(int),
                                   [FIRN_FLOAT] = sizeof(float),    [FIRN_DOUBLE] = sizeof(double),
                                   [FIRN_VEC3] = sizeof(firn_vec3), [FIRN_CHOICE] = sizeof(int)};
    return sizes[param->type];
}

/// Rows stand in the order of the fields and leave no room for one between them, beyond what a
/// double needs to be aligned.
static inline void assert_rows_cover(firn_param_table table, size_t cookie_size, size_t def_size)
{
    size_t end = cookie_size;
    for (size_t i = 0; i < table.count; i++) {
        const firn_param *param = &table.params[i];
        size_t alignment = param->type == FIRN_DOUBLE ? sizeof(double) : size_of_row(param);
        if (param->type == FIRN_VEC3)
            alignment = sizeof(float);
        assert_int_equal(param->offset, (end + alignment - 1) / alignment * alignment);
        end = param->offset + size_of_row(param);
    }
    assert_true(def_size - end < sizeof(double));
}

static inline void assert_rows_are_sound(firn_param_table table)
{
    for (size_t i = 0; i < table.count; i++) {
        const firn_param *param = &table.params[i];
        char choice[64], label[64];
        assert_true(strlen(param->help) > 10);
        assert_true(param->help[strlen(param->help) - 1] != '.');
        assert_non_null(param->unit);
        assert_ptr_equal(firn_params_find(table, param->name), param);
        assert_int_equal(firn_param_choice(param, 0, choice, sizeof choice),
                         param->type == FIRN_CHOICE);
        assert_true(param->type == FIRN_BOOL || param->min < param->max);
        firn_param_label(param, label, sizeof label);
        assert_true(label[0] != '\0');
        if (param->type == FIRN_INT)
            assert_true(param->min >= INT32_MIN && param->max <= INT32_MAX);
    }
}

#endif
