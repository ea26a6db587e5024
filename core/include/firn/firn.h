/// All of Firn's core in one include.
#ifndef FIRN_FIRN_H
#define FIRN_FIRN_H

#include "firn/base.h"
#include "firn/body.h"
#include "firn/channel.h"
#include "firn/collider.h"
#include "firn/exchange.h"
#include "firn/field.h"
#include "firn/file.h"
#include "firn/fine.h"
#include "firn/force.h"
#include "firn/level_set.h"
#include "firn/material.h"
#include "firn/noise.h"
#include "firn/params.h"
#include "firn/patch.h"
#include "firn/sim.h"
#include "firn/sim_bodies.h"
#include "firn/sim_heat.h"
#include "firn/sim_ranks.h"
#include "firn/solid_set.h"
#include "firn/source.h"
#include "firn/vec.h"

#endif
