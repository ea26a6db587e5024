/// Every model: X(name) for each. The name is that of the model's header, of its row
/// firn_model_NAME, and of its functions firn_NAME_..., see matter.h.
#ifndef FIRN_MODEL_LIST_H
#define FIRN_MODEL_LIST_H

/// Those that a material may name, in the order of firn_model_kind.
#define FIRN_CHOSEN_MODELS(X) X(snow) X(elastic) X(granular) X(liquid) X(porous)

/// And the loose twins of some of them, which sources ask for.
#define FIRN_EVERY_MODEL(X) FIRN_CHOSEN_MODELS(X) X(loose) X(loose_porous)

#endif
