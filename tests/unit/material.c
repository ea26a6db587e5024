#include "firn/material.h"

#include "firn/defs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/def_rows.h"

static firn_material_def preset(const char *name)
{
    firn_material_def def;
    assert_int_equal(firn_material_def_preset(name, &def, NULL), FIRN_OK);
    return def;
}

static void every_field_has_a_row(void **state)
{
    (void)state;
    assert_rows_cover(firn_material_params(), sizeof(uint32_t), sizeof(firn_material_def));
    assert_rows_are_sound(firn_material_params());
}

static void the_default_is_table_2_of_the_paper(void **state)
{
    (void)state;
    firn_material_def def = firn_material_def_default(), paper = preset("paper");
    assert_memory_equal(&def, &paper, sizeof def);
    assert_true(def.critical_compression == 2.5e-2f);
    assert_true(def.critical_stretch == 7.5e-3f);
    assert_true(def.hardening == 10.0f);
    assert_true(def.density == 400.0f);
    assert_true(def.young_modulus == 1.4e5f);
    assert_true(def.poisson_ratio == 0.2f);
}

static void every_preset_is_valid_described_and_different(void **state)
{
    (void)state;
    int count = 0;
    for (; firn_material_presets(count) != NULL; count++) {
        const firn_material_preset *entry = firn_material_presets(count);
        assert_true(strlen(entry->help) > 20);
        firn_material_def def = preset(entry->name);
        assert_int_equal(
            firn_def_check(def.cookie, sizeof def, firn_material_params(), &def, "material", NULL),
            FIRN_OK);
        for (int i = 0; i < count; i++) {
            firn_material_def other = preset(firn_material_presets(i)->name);
            assert_memory_not_equal(&def, &other, sizeof def);
        }
    }
    assert_int_equal(count, 16);
    assert_null(firn_material_presets(-1));
}

static void hardening_stays_within_e_to_the_ninth(void **state)
{
    (void)state;
    for (int i = 0; firn_material_presets(i) != NULL; i++) {
        firn_material_def def = preset(firn_material_presets(i)->name);
        assert_true(def.hardening * (1.0f - def.jp_min) < 9.001f);
        assert_true(def.young_modulus * expf(def.hardening * (1.0f - def.jp_max)) > 0.0f);
    }
}

static void presets_follow_the_trends_of_section_5(void **state)
{
    (void)state;
    firn_material_def paper = preset("paper"), powder = preset("powder"), wet = preset("wet");
    firn_material_def packing = preset("packing"), icy = preset("icy"), muddy = preset("muddy");
    assert_true(powder.critical_compression < paper.critical_compression);
    assert_true(powder.critical_stretch < paper.critical_stretch);
    assert_true(packing.critical_stretch > paper.critical_stretch);
    assert_true(wet.critical_compression > packing.critical_compression);
    assert_true(wet.critical_stretch > packing.critical_stretch);
    assert_true(icy.hardening > paper.hardening && icy.young_modulus > paper.young_modulus);
    assert_true(muddy.hardening < paper.hardening && muddy.young_modulus < paper.young_modulus);
    assert_true(powder.density < paper.density && wet.density > paper.density);
}

static void an_unknown_preset_changes_nothing(void **state)
{
    (void)state;
    firn_material_def def = firn_material_def_default(), before = def;
    firn_error error;
    assert_int_equal(firn_material_def_preset("dust", &def, &error), FIRN_ERR_NOT_FOUND);
    assert_memory_equal(&def, &before, sizeof def);
    for (int i = 0; firn_material_presets(i) != NULL; i++)
        assert_non_null(strstr(error.message, firn_material_presets(i)->name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_a_row),
        cmocka_unit_test(the_default_is_table_2_of_the_paper),
        cmocka_unit_test(every_preset_is_valid_described_and_different),
        cmocka_unit_test(hardening_stays_within_e_to_the_ninth),
        cmocka_unit_test(presets_follow_the_trends_of_section_5),
        cmocka_unit_test(an_unknown_preset_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
