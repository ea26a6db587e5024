/// A model of the core and one that it does not know: included before everything else, in place of
/// models/list.h.
#ifndef FIRN_MODEL_LIST_H
#define FIRN_MODEL_LIST_H

#define FIRN_CHOSEN_MODELS(X) X(snow) X(foam)
#define FIRN_EVERY_MODEL(X) FIRN_CHOSEN_MODELS(X)

#endif
