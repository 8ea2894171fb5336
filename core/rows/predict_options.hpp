// How rows are to be predicted.
#pragma once

namespace unitless {

struct PredictOptions {
    bool extrapolate = false;  // the plain linear model w x, without the limits of what has been seen
    bool average = false;      // with the average of the weights, where the model keeps one
};

}  // namespace unitless
