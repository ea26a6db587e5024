/// Every model: X(name) for each, in the order of firn_model_kind. The name is that of the model's
/// header, of its row firn_model_NAME, and of its functions firn_NAME_..., see model.h.
#ifndef FIRN_MODEL_LIST_H
#define FIRN_MODEL_LIST_H

#define FIRN_EVERY_MODEL(X) X(snow) X(elastic) X(granular) X(liquid) X(porous)

#endif
