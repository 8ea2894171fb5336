// A list of texts from Python.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "python/arrays.hpp"

namespace unitless {

// Text k is bytes[ends[k], ends[k + 1]). The ends are copied, because Python may change the array while the
// interpreter's lock is released.
class Texts {
  public:
    Texts(const Integers& ends, const Bytes& bytes)
        : ends_(copy_of(ends)), text_(reinterpret_cast<const char*>(bytes.data())) {
        const auto length = static_cast<std::int64_t>(bytes.size());
        for (std::size_t k = 0; k < size(); ++k)
            if (ends_[k] < 0 || ends_[k] > ends_[k + 1] || ends_[k + 1] > length)
                throw InputError("the texts are malformed");
    }
    std::size_t size() const { return ends_.empty() ? 0 : ends_.size() - 1; }
    std::string_view operator[](std::size_t k) const {
        return {text_ + ends_[k], static_cast<std::size_t>(ends_[k + 1] - ends_[k])};
    }

  private:
    std::vector<std::int64_t> ends_;
    const char* text_;
};

}  // namespace unitless
