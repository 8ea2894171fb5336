// Merging: reads slots, merges them, and writes them into a new learner.

#include "engine/merging.hpp"

#include <nanobind/stl/tuple.h>

#include <bit>
#include <deque>
#include <functional>

#include "base/name_hash.hpp"
#include "engine/information.hpp"
#include "engine/newton/kernel.hpp"
#include "python/learner.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

using Grid = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using NewGrid = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

NewGrid table_of(const std::vector<double>& from, std::size_t rows, std::size_t columns) {
    auto data = std::make_unique<double[]>(from.size());
    std::copy(from.begin(), from.end(), data.get());
    double* raw = data.release();
    return NewGrid(raw, {rows, columns}, nb::capsule(raw, [](void* p) noexcept { delete[] static_cast<double*>(p); }));
}

nb::tuple arrays_of(const SlotBlock& from) {
    return nb::make_tuple(copied<NewDoubles>(from.scale), table_of(from.H, from.scale.size(), from.lanes),
                          table_of(from.values, from.scale.size(), from.width));
}

nb::tuple read_slots(const PyLearner& self, const Slots& slots, const Slots& lanes) {
    if (lanes.size() == 0) throw InputError("reading slots needs at least one lane");
    SlotBlock block(slots.size(), lanes.size(), self.learner.slot_width(lanes.size()));
    const auto own_lanes = copy_of(lanes);
    {
        const Released release;
        self.learner.read(slots.data(), slots.size(), own_lanes, block);
    }
    return arrays_of(block);
}

Merging merging_of(const nb::dict& how) {
    const auto flag = [&](const char* name) { return nb::cast<bool>(how[name]); };
    return {flag("unit_free"),
            flag("sums_squares"),
            flag("shrinks"),
            flag("bounded"),
            flag("proximal"),
            nb::cast<std::vector<double>>(how["t"]),
            nb::cast<double>(how["merged_t"])};
}

// The data of a part of a merge, and its learner, which stay alive while the interpreter's lock is released.
struct KeptPart {
    nb::object learner;
    std::vector<std::uint32_t> listed, moved;
    std::vector<double> by;
};

bool load_merged(PyLearner& self, const nb::dict& snapshot, const nb::list& listed_parts, const nb::dict& merging) {
    const Snapshot from = snapshot_of(snapshot);
    const Merging how = merging_of(merging);
    const nb::tuple parts(listed_parts);
    if (how.t.size() != parts.size() || parts.empty()) throw InputError("there is nothing to merge");
    std::deque<KeptPart> kept;
    std::vector<MergedPart> to;
    for (const nb::handle part : parts) {
        const auto of = nb::cast<nb::dict>(part);
        const auto by = nb::cast<Grid>(of["by"]);
        const KeptPart& own = kept.emplace_back(KeptPart{of["learner"], copy_of(nb::cast<Slots>(of["listed"])),
                                                         copy_of(nb::cast<Slots>(of["moved"])), copy_of(by)});
        to.push_back({&nb::cast<const PyLearner&>(own.learner).learner, nb::cast<double>(of["t"]),
                      nb::cast<std::uint64_t>(of["examples"]), nb::cast<std::size_t>(of["lane_count"]),
                      copy_of(nb::cast<Slots>(of["lanes"])), nb::cast<std::size_t>(of["direct"]), own.listed.data(),
                      own.listed.size(), own.moved.data(), own.moved.size(), own.by.data()});
        const std::vector<std::uint32_t>& lanes = to.back().lanes;
        const bool known =
            std::all_of(lanes.begin(), lanes.end(), [&](std::uint32_t lane) { return lane < to.back().lane_count; });
        const bool rising =
            std::adjacent_find(own.moved.begin(), own.moved.end(), std::greater_equal<>()) == own.moved.end();
        if (!known || !rising || lanes.empty() || lanes.size() != from.engine.lanes.size() ||
            by.shape(0) != own.moved.size() ||
            (!own.moved.empty() && by.shape(1) != self.learner.slot_width(lanes.size())))
            throw InputError("the parts of a merge do not match");
    }
    const Released release;
    return self.learner.load_merged(from, to, how, [&] {
        const nb::gil_scoped_acquire acquire;
        self.forget_names();
    });
}

nb::tuple merged_slots(const nb::list& listed_parts, const nb::dict& merging) {
    const Merging how = merging_of(merging);
    const nb::tuple parts(listed_parts);
    if (how.t.size() != parts.size() || parts.empty()) throw InputError("there is nothing to merge");
    std::vector<SlotBlock> from;
    for (const nb::handle part : parts) {
        const auto [scale, H, values] = nb::cast<std::tuple<Doubles, Grid, Grid>>(part);
        from.emplace_back(0, H.shape(1), values.shape(1));
        SlotBlock& block = from.back();
        block.scale.assign(scale.data(), scale.data() + scale.size());
        block.H.assign(H.data(), H.data() + H.size());
        block.values.assign(values.data(), values.data() + values.size());
        const bool whole = H.shape(0) == scale.size() && values.shape(0) == scale.size() && block.lanes > 0;
        if (!whole || block.width % block.lanes || block.lanes != from[0].lanes || block.width != from[0].width ||
            block.scale.size() != from[0].scale.size())
            throw InputError("the parts of a merge do not match");
    }
    SlotBlock to(from[0].scale.size(), from[0].lanes, from[0].width);
    {
        const Released release;
        combine(how, from, to.scale.size(), to);
    }
    return arrays_of(to);
}

nb::tuple inverted(const Grid& matrix) {
    if (matrix.shape(0) != matrix.shape(1)) throw InputError("only a square matrix has an inverse");
    std::vector<double> to(matrix.data(), matrix.data() + matrix.size());
    bool sound = false;
    {
        const Released release;
        sound = invert(to.data(), matrix.shape(0));
    }
    return nb::make_tuple(table_of(to, matrix.shape(0), matrix.shape(0)), sound);
}

NewGrid multiplied(const Grid& matrix, const Grid& vectors) {
    const std::size_t n = matrix.shape(0);
    if (matrix.shape(1) != n || vectors.shape(1) != n) throw InputError("the vectors and the matrix differ in size");
    std::vector<double> to(vectors.size());
    for (std::size_t i = 0; i < vectors.shape(0); ++i)
        multiply(matrix.data(), vectors.data() + i * n, n, to.data() + i * n);
    return table_of(to, vectors.shape(0), n);
}

// Numbers names in the order in which they first occur.
class Numbered {
  public:
    explicit Numbered(std::size_t most) : table_(std::bit_ceil(2 * most + 1), none) { hashes_.reserve(most); }

    std::uint32_t add(nb::handle name) {
        const std::string_view text = text_of(name);
        const std::uint64_t hash = seeded_hash(text, NameSeed::of_process());
        const std::size_t mask = table_.size() - 1;
        for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
            const std::uint32_t found = table_[at];
            if (found != none && !(hashes_[found] == hash && text_of(names_[found]) == text)) continue;
            if (found != none) return found;
            table_[at] = static_cast<std::uint32_t>(hashes_.size());
            hashes_.push_back(hash);
            names_.append(name);
            return table_[at];
        }
    }
    const nb::list& names() const { return names_; }

  private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    std::vector<std::uint32_t> table_;
    std::vector<std::uint64_t> hashes_;
    nb::list names_;

    static std::string_view text_of(nb::handle name) {
        Py_ssize_t size = 0;
        const char* text = PyUnicode_AsUTF8AndSize(name.ptr(), &size);
        if (!text) throw nb::python_error();
        return {text, static_cast<std::size_t>(size)};
    }
};

nb::tuple numbered_names(const std::vector<nb::list>& listed) {
    std::vector<nb::tuple> lists;  // immutable copies of the lists
    std::size_t most = 0;
    for (const nb::list& list : listed) most += lists.emplace_back(list).size();
    Numbered numbered(most);
    nb::list numbers;
    for (const nb::tuple& list : lists) {
        auto own = std::make_unique<std::uint32_t[]>(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) own[i] = numbered.add(list[i]);
        numbers.append(hand_over<NewSlots>(std::move(own), list.size()));
    }
    return nb::make_tuple(numbered.names(), numbers);
}

}  // namespace

void define_merging(nb::module_& m, nb::class_<PyLearner>& learner) {
    learner.def("_read_slots", &read_slots, "slots"_a, "lanes"_a)
        .def("_load_merged", &load_merged, "snapshot"_a, "parts"_a, "merging"_a);
    m.def("merged_slots", &merged_slots, "parts"_a, "merging"_a);
    m.attr("most_second_order") = most_features;
    m.def("inverted", &inverted, "matrix"_a);
    m.def("multiplied", &multiplied, "matrix"_a, "vectors"_a);
    m.def("numbered_names", &numbered_names, "lists"_a);
}

}  // namespace unitless
