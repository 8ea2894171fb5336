#include "engine/shapes/mixture.hpp"
