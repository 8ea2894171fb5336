// Bindings that collect rows of several pieces in any order.

#include "rows/gather.hpp"

#include "python/learner.hpp"
#include "rows/row_hash.hpp"
#include "text/text_gather.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

using NewRecords = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using NewMatrix = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using NewEntries = nb::ndarray<nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyEntries = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[noreturn]] void malformed() { throw InputError("the rows to gather are malformed"); }

NewIntegers rows_below(std::uint64_t key, std::uint64_t first, std::uint64_t count, std::uint64_t highest) {
    return copied<NewIntegers>(unlocked_get([&] {
        std::vector<std::int64_t> found;
        for (std::uint64_t row = 0; row < count; ++row)
            if (row_hash(key, first + row) <= highest) found.push_back(static_cast<std::int64_t>(row));
        return found;
    }));
}

// The rows to collect, copied and checked.
class PickedRows {
  public:
    // `rows(p)`: the number of rows of piece p.
    template <class RowsOf>
    PickedRows(const Integers& piece, const Integers& row, std::size_t pieces, RowsOf rows)
        : piece_(copy_of(piece)), row_(copy_of(row)) {
        if (piece_.size() != row_.size()) malformed();
        for (std::size_t i = 0; i < piece_.size(); ++i) {
            const auto p = static_cast<std::size_t>(piece_[i]);
            if (p >= pieces || static_cast<std::size_t>(row_[i]) >= rows(p)) malformed();
        }
    }
    Picked picked() const { return {piece_.data(), row_.data(), piece_.size()}; }

  private:
    std::vector<std::int64_t> piece_, row_;
};

// The function that converts values of `size` bytes to values of `packed_size` bytes.
PackColumns packing(Type type, std::size_t size, std::size_t packed_size) {
    if (packed_size == size) {
        if (size == 1) return pack_unchanged<1>;
        if (size == 2) return pack_unchanged<2>;
        if (size == 4) return pack_unchanged<4>;
        if (size == 8) return pack_unchanged<8>;
    } else if (type == Type::f64) {
        if (packed_size == 1) return pack_narrow<double, std::int8_t>;
        if (packed_size == 4) return pack_narrow<double, std::int32_t>;
    } else if (type == Type::i64) {
        if (packed_size == 1) return pack_narrow<std::int64_t, std::int8_t>;
        if (packed_size == 4) return pack_narrow<std::int64_t, std::int32_t>;
    }
    malformed();
}

// `sizes`: the bytes of each column's values in the records. Returns false if a value does not fit.
bool pack_records(const std::vector<Vector>& columns, const std::vector<std::size_t>& offsets,
                  const std::vector<std::size_t>& sizes, NewRecords& out) {
    std::vector<PackedColumn> from;
    const std::size_t rows = out.shape(0), width = out.shape(1);
    if (columns.size() != offsets.size() || columns.size() != sizes.size()) malformed();
    for (std::size_t j = 0; j < columns.size(); ++j) {
        const std::size_t size = columns[j].itemsize();
        if (columns[j].shape(0) != rows || sizes[j] > width || offsets[j] > width - sizes[j]) malformed();
        const auto stride = columns[j].stride(0) * static_cast<std::ptrdiff_t>(size);
        from.push_back({{static_cast<const char*>(columns[j].data()), rows, stride, 0},
                        size,
                        sizes[j],
                        offsets[j],
                        packing(type_of(columns[j].dtype()), size, sizes[j])});
    }
    const Released release;
    return pack(std::move(from), rows, reinterpret_cast<char*>(out.data()), width);
}

void gather_rows(const std::vector<Matrix>& pieces, const Integers& piece, const Integers& row, NewMatrix& out) {
    std::vector<Records> from;
    const std::size_t elements = out.shape(1), size = out.itemsize();
    for (const Matrix& one : pieces) {
        if (one.shape(1) != elements || one.itemsize() != size) malformed();
        const auto bytes = static_cast<std::ptrdiff_t>(size);
        from.push_back(
            {static_cast<const char*>(one.data()), one.shape(0), one.stride(0) * bytes, one.stride(1) * bytes});
    }
    if (out.shape(0) != piece.size()) malformed();
    const Released release;
    const PickedRows rows(piece, row, from.size(), [&](std::size_t p) { return from[p].rows; });
    gather(from, rows.picked(), elements, size, static_cast<char*>(out.data()));
}

// The positions of the rows' entries when the rows are concatenated, and the end of the last row.
NewIntegers entry_starts(const std::vector<Integers>& starts, const Integers& piece, const Integers& row) {
    for (const Integers& one : starts)
        if (one.size() == 0) malformed();
    auto cuts = std::make_unique_for_overwrite<std::int64_t[]>(row.size() + 1);
    cuts[0] = 0;
    {
        const Released release;
        const PickedRows own(piece, row, starts.size(), [&](std::size_t p) { return starts[p].size() - 1; });
        const Picked rows = own.picked();
        for (std::size_t i = 0; i < rows.count; ++i) {
            const std::int64_t* const at = starts[static_cast<std::size_t>(rows.piece[i])].data() + rows.row[i];
            if (at[1] < at[0]) malformed();
            cuts[i + 1] = cuts[i] + at[1] - at[0];
        }
    }
    return hand_over<NewIntegers>(std::move(cuts), row.size() + 1);
}

void gather_entries(const std::vector<Integers>& starts, const std::vector<AnyEntries>& entries, const Integers& piece,
                    const Integers& row, NewEntries& out) {
    std::vector<Entries> from;
    const std::size_t size = out.itemsize();
    if (starts.size() != entries.size()) malformed();
    for (std::size_t p = 0; p < starts.size(); ++p) {
        if (starts[p].size() == 0 || entries[p].itemsize() != size) malformed();
        from.push_back(
            {starts[p].data(), starts[p].size() - 1, static_cast<const char*>(entries[p].data()), entries[p].size()});
    }
    const Released release;
    const PickedRows rows(piece, row, from.size(), [&](std::size_t p) { return from[p].rows; });
    if (!gather(from, rows.picked(), size, static_cast<char*>(out.data()), out.size())) malformed();
}

TextRows gather_text(const nb::list& listed, const Integers& piece, const Integers& row, std::uint64_t first,
                     std::uint64_t next) {
    if (next < first || next > 0xffffffff) malformed();
    const nb::tuple kept(listed);  // keeps the pieces alive while the interpreter's lock is released
    std::vector<TextRows*> pieces;
    for (const nb::handle one : kept) {
        if (!nb::isinstance<TextRows>(one)) malformed();
        pieces.push_back(&nb::cast<TextRows&>(one));
    }
    const Released release;
    const PickedRows rows(piece, row, pieces.size(), [&](std::size_t p) { return pieces[p]->rows(); });
    return gathered(pieces, rows.picked(), first, next);
}

}  // namespace

void define_gather(nb::module_& m) {
    m.def("rows_below", &rows_below, "key"_a, "first"_a, "count"_a, "highest"_a,
          "The rows, counted from 0, whose hashes are at most `highest`; row 0 has the number `first`.");
    m.def(
        "pack_records", &pack_records, "columns"_a, "offsets"_a, "sizes"_a, "out"_a.noconvert(),
        "Writes columns into records, each at its offset, as whole numbers of 1 or 4 bytes if that is its size there. "
        "False if a value does not fit.");
    m.def("gather_rows", &gather_rows, "pieces"_a, "piece"_a, "row"_a, "out"_a.noconvert(),
          "Collects rows of several matrices of one type.");
    m.def("entry_starts", &entry_starts, "starts"_a, "piece"_a, "row"_a,
          "The places of the entries of rows of several compressed matrices when they follow one another.");
    m.def("gather_entries", &gather_entries, "starts"_a, "entries"_a, "piece"_a, "row"_a, "out"_a.noconvert(),
          "Collects the entries of rows of several compressed matrices.");
    m.def("gather_text", &gather_text, "pieces"_a, "piece"_a, "row"_a, "first"_a = 0, "next"_a = 0,
          "Collects rows of several texts, as if they had been read in this order. The first row also mentions the "
          "indices "
          "from `first` to before `next`.");
}

}  // namespace unitless
