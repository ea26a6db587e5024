/// A model of the core and one that it does not know. This folder stands before core/src on the
/// path of includes, so that the list is found in place of the core's.
#ifndef FIRN_EXTRA_MODEL_LIST_H
#define FIRN_EXTRA_MODEL_LIST_H

#define FIRN_CHOSEN_MODELS(X) X(snow) X(foam)
#define FIRN_EVERY_MODEL(X) FIRN_CHOSEN_MODELS(X)

#endif
