/// Parts of a stage that stand in files of their own.
#ifndef FIRN_STAGE_PARTS_H
#define FIRN_STAGE_PARTS_H

#include "crate.h"

#include "firn/usd_stage.h"

void firn_usd_put_materials(firn_crate_bytes *out, const firn_usd_stage *stage, const char *name);
void firn_usd_put_solids(firn_crate_bytes *out, const firn_usd_stage *stage);

#endif
