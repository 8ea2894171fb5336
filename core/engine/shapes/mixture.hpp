#pragma once
#include <vector>
#include <cstddef>
namespace unitless { class Mixture { public: enum class Kind { logistic, squared, classes, other }; Mixture(Kind, std::size_t e):e_(e){} 
 void say(const double* x, std::size_t h, double* s) const { for (std::size_t i=0;i<h;++i) s[i]=x[(e_-1)*h+i]; }
 void learn(const double*, std::size_t, double, double, const double*) {}
 std::vector<double> save() const { return {}; } void load(const std::vector<double>&) {} std::size_t e_; }; }
