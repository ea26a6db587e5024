#include "followed.h"
#include "report_parts.h"

#include <math.h>

static void print_number(FILE *page, const char *label, double value, const char *unit)
{
    if (isfinite(value))
        fprintf(page, "<tr><td>%s</td><td class=\"n\">%.3g%s%s</td></tr>\n", label, value,
                unit[0] != '\0' ? " " : "", unit);
}

static void print_pieces(FILE *page, const firn_pieces *p)
{
    print_number(page, "share of the bonds that are whole", p->whole, "");
    print_number(page, "strength left in them", p->strength, "");
    print_number(page, "pieces above 20 cm<sup>3</sup>", (double)p->piece_count, "");
    print_number(page, "share of the snow in pieces", p->pieces, "");
    print_number(page, "in the largest", p->largest, "");
    print_number(page, "in crumbs", p->crumbs, "");
    print_number(page, "in dust below 5 cm<sup>3</sup>", p->dust, "");
}

static void print_packing(FILE *page, const firn_packing *p)
{
    print_number(page, "volume that the surface sank by", 1e6 * p->imprint, "cm<sup>3</sup>");
    print_number(page, "depth of that", 1e2 * p->depth, "cm");
    print_number(page, "volume above the old surface", 1e6 * p->rim, "cm<sup>3</sup>");
    print_number(page, "density at first", p->density_before, "kg/m<sup>3</sup>");
    print_number(page, "density at last", p->density_after, "kg/m<sup>3</sup>");
}

// A cache without particles, or with one frame, has nothing to compare.
void firn_report_measures(FILE *page, const firn_record *record)
{
    firn_followed followed;
    firn_pieces pieces = {.strength = (double)NAN};
    firn_packing packing;
    firn_result result =
        record->view.frame_count > 1
            ? firn_followed_read(record->folder, FIRN_FOLLOW_END, FIRN_FOLLOW_END, &followed, NULL)
            : FIRN_ERR_NOT_FOUND;
    if (result != FIRN_OK)
        return;
    firn_pieces_input input = firn_followed_pieces(&followed);
    firn_packing_input surface = firn_followed_packing(&followed);
    firn_pieces_def def = firn_pieces_def_default();
    if (followed.count > 0 && firn_pieces_find(&input, &def, &pieces, NULL) == FIRN_OK &&
        firn_packing_find(&surface, &packing, NULL) == FIRN_OK) {
        fprintf(page,
                "<details><summary>What became of the snow from frame %d to %d</summary>"
                "<table>\n",
                followed.from, followed.to);
        print_pieces(page, &pieces);
        print_packing(page, &packing);
        fputs("</table></details>\n", page);
    }
    firn_pieces_free(&pieces);
    firn_followed_free(&followed);
}
