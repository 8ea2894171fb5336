// Options of a prediction.
#pragma once

namespace unitless {

struct PredictOptions {
    bool extrapolate = false;  // the plain linear model w x, without the limits of the values seen so far
    bool average = false;      // uses the average of the weights, if the model has one
};

}  // namespace unitless
