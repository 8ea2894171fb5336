// Raw values next to the encoded rows: for every kind of rows, and however they are divided into calls, they follow
// from the names alone. And an automatic learner takes its form from the first rows that it learns.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "calls.hpp"
#include "encoding/named_source.hpp"
#include "encoding/table_source.hpp"
#include "learner/learner.hpp"
#include "supported_kernels.hpp"

using namespace unitless;

namespace {

int checks = 0, failures = 0;

void check(bool condition, const std::string& what) {
    ++checks;
    if (condition) return;
    ++failures;
    std::printf("FAILED: %s\n", what.c_str());
}

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

// The input of an engine, row by row.
struct Seen {
    std::vector<std::vector<double>> raw;  // with as many columns as were known then
    std::vector<unsigned char> kinds;
    std::vector<std::vector<std::pair<std::uint32_t, double>>> entries;

    void add(const Batch& all) {
        const std::size_t half = all.rows / 2;
        for (const Batch& part : {part_of(all, 0, half), part_of(all, half, all.rows)}) {
            for (std::size_t r = 0; r < part.rows; ++r) {
                const double* row = part.raw + r * part.raw_stride;
                raw.emplace_back(row, row + part.raw_counts[r]);
                for (std::size_t j = part.raw_counts[r]; j < part.raw_stride; ++j)
                    check(std::isnan(row[j]), "columns that are not known have no values");
                auto& to = entries.emplace_back();
                for (std::size_t k = begin_of(part, r); k < end_of(part, r); ++k)
                    to.emplace_back(part.slots[k], part.values[k]);
                kinds.assign(part.raw_kinds, part.raw_kinds + part.raw_counts[r]);
            }
        }
    }
    bool same_raw(const Seen& other) const {
        if (raw.size() != other.raw.size() || kinds != other.kinds) return false;
        for (std::size_t r = 0; r < raw.size(); ++r) {
            if (raw[r].size() != other.raw[r].size()) return false;
            for (std::size_t j = 0; j < raw[r].size(); ++j)
                if (!same(raw[r][j], other.raw[r][j])) return false;
        }
        return true;
    }
};

// Rows of (name, value). In a table, a column of text has the part after the '='.
using Row = std::vector<std::pair<std::string, double>>;

struct Rows {
    std::vector<Row> rows;
    std::vector<double> weight;
};

// The definition of raw values, written as plainly as possible.
Seen expected(const Rows& given) {
    std::map<std::string, std::uint32_t> features, columns;
    Seen seen;
    for (std::size_t r = 0; r < given.rows.size(); ++r) {
        std::map<std::uint32_t, double> has;
        for (const auto& [name, x] : given.rows[r]) {
            const std::size_t end = name.find('=');
            const bool text = end != std::string::npos;
            const std::string column = text ? name.substr(0, end + 1) : name;
            if (!features.contains(name)) {
                if (given.weight[r] == 0) continue;
                features.emplace(name, features.size() + 1);
                if (!columns.contains(column) && columns.size() < 1024) {
                    columns.emplace(column, columns.size());
                    seen.kinds.push_back(text);
                }
            }
            if (!columns.contains(column)) continue;
            const std::uint32_t at = columns[column];
            if (!text) has[at] = x;
            if (text && x != 0) has[at] = std::max(has[at], static_cast<double>(features[name]));
        }
        auto& row = seen.raw.emplace_back(columns.size(), nothing);
        for (const auto& [at, x] : has) row[at] = x;
    }
    return seen;
}

Seen taken(Encoder& encoder, RowSource& input, const Rows& given, std::size_t at_once) {
    Seen seen;
    for (std::size_t first = 0; first < input.rows();) {
        const std::size_t most = std::min(at_once, input.rows() - first);
        const Batch batch = encoder.encode(input, first, most, Purpose::learn, given.weight.data());
        seen.add(batch);
        first += batch.rows;
    }
    return seen;
}

NamedRows named(const Rows& given) {
    NamedRows to;
    std::map<std::string, std::uint32_t> ids;
    for (const Row& row : given.rows) {
        for (const auto& [name, x] : row) {
            if (!ids.contains(name)) {
                ids.emplace(name, ids.size());
                to.text.insert(to.text.end(), name.begin(), name.end());
                to.name_ends.push_back(to.text.size());
            }
            to.ids.push_back(ids[name]);
            to.values.push_back(x);
        }
        to.row_ends.push_back(to.ids.size());
    }
    return to;
}

// Encodes each row as a separate source.
Seen one_by_one(Encoder& encoder, const Rows& given) {
    Seen seen;
    for (std::size_t r = 0; r < given.rows.size(); ++r) {
        const NamedRows row = named({{given.rows[r]}, {}});
        NamedSource source(row);
        seen.add(encoder.encode(source, 0, 1, Purpose::learn, &given.weight[r]));
    }
    return seen;
}

// A table that owns the memory of its columns.
struct OwnTable {
    Table table;
    std::vector<std::vector<double>> numbers;
    std::vector<std::vector<std::int32_t>> codes;
    std::vector<std::string> texts;
    std::vector<std::vector<std::int64_t>> ends;

    OwnTable(const Rows& given, const std::vector<std::string>& names) {
        const std::size_t rows = given.rows.size();
        table.rows = rows;
        table.missing = true;
        numbers.resize(names.size());
        codes.resize(names.size());
        texts.resize(names.size());
        ends.resize(names.size());
        for (std::size_t j = 0; j < names.size(); ++j) {
            TableColumn& column = table.columns.emplace_back();
            const bool text = names[j].back() == '=';
            column.name = text ? names[j].substr(0, names[j].size() - 1) : names[j];
            numbers[j].assign(rows, nothing);
            codes[j].assign(rows, -1);
            ends[j].push_back(0);
            std::map<std::string, std::int32_t> values;
            for (std::size_t r = 0; r < rows; ++r) {
                for (const auto& [name, x] : given.rows[r]) {
                    if (!text && name == names[j]) numbers[j][r] = x;
                    if (!text || !name.starts_with(names[j])) continue;
                    if (!values.contains(name)) {
                        values.emplace(name, static_cast<std::int32_t>(values.size()));
                        texts[j] += name.substr(names[j].size());
                        ends[j].push_back(static_cast<std::int64_t>(texts[j].size()));
                    }
                    codes[j][r] = values[name];
                }
            }
            column.numbers = {reinterpret_cast<const char*>(numbers[j].data()), 8, Type::f64, 0};
            if (!text) continue;
            column.codes = codes[j].data();
            column.text = texts[j].data();
            column.ends = ends[j].data();
            column.values = values.size();
        }
    }
};

// ---------------------------------------------------------------------------------------------------- mixed rows

const std::vector<std::string> mixed_names{"age", "city=", "height", "odd=number", "kind=", "width"};

Rows mixed(std::uint64_t seed, std::size_t count) {
    std::mt19937_64 random(seed);
    const auto chance = [&](double p) { return std::uniform_real_distribution<double>()(random) < p; };
    Rows to;
    for (std::size_t r = 0; r < count; ++r) {
        Row row;
        for (const std::string& name : mixed_names) {
            if (chance(name == "width" && r < count / 2 ? 0.95 : 0.2)) continue;
            if (name.back() == '=') {
                row.emplace_back(name + std::to_string(random() % (2 + r / 4)), 1.0);
            } else {
                row.emplace_back(name, chance(0.3) ? 0.0 : std::normal_distribution<double>()(random) + 100);
            }
        }
        to.rows.push_back(row);
        to.weight.push_back(chance(0.2) ? 0.0 : 0.5);
    }
    return to;
}

EncoderSetup collecting(bool center, Pairs pairs) {
    EncoderSetup setup;
    setup.raw = true;
    setup.center = center;
    setup.pairs = pairs;
    return setup;
}

void mixed_rows(const RowKernel& kernel) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Rows given = mixed(seed, 60);
        const Seen wanted = expected(given);
        const OwnTable own(given, mixed_names);
        const NamedRows names = named(given);
        for (const bool center : {false, true}) {
            for (const Pairs pairs : {Pairs::none, Pairs::all}) {
                const auto fresh = [&] {
                    Encoder encoder(collecting(center, pairs), kernel);
                    encoder.use_names();
                    return encoder;
                };
                for (const std::size_t at_once : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
                    Encoder a = fresh(), b = fresh();
                    TableSource table(own.table);
                    NamedSource in(names);
                    check(taken(a, table, given, at_once).same_raw(wanted), "raw values of tables");
                    check(taken(b, in, given, at_once).same_raw(wanted), "raw values of rows of names");
                }
                Encoder c = fresh();
                check(one_by_one(c, given).same_raw(wanted), "raw values of rows one by one");
                // A saved and loaded encoder knows the same columns.
                Encoder loaded(collecting(center, pairs), kernel);
                loaded.load(c.save());
                const Rows more = mixed(seed + 100, 20);
                check(one_by_one(loaded, more).same_raw(one_by_one(c, more)), "raw values after loading");
            }
        }
    }
}

// Undone rows leave no trace.
void rewound(const RowKernel& kernel) {
    const Rows given = mixed(3, 40), other = mixed(4, 40);
    Encoder a(collecting(false, Pairs::none), kernel), b(collecting(false, Pairs::none), kernel);
    a.use_names();
    b.use_names();
    Rows first = given, second = given;
    first.rows.resize(9);
    second.rows.erase(second.rows.begin(), second.rows.begin() + 9);
    second.weight.erase(second.weight.begin(), second.weight.begin() + 9);
    one_by_one(a, first);
    one_by_one(b, first);
    Rows strange = other;
    for (Row& row : strange.rows)
        for (auto& [name, x] : row) name = "other " + name;
    const Encoder::Mark mark = a.mark();
    one_by_one(a, strange);
    one_by_one(a, other);
    a.rewind(mark);
    check(one_by_one(a, second).same_raw(one_by_one(b, second)), "raw columns are taken back");
}

// ---------------------------------------------------------------------------------------------------- dense rows

void dense_rows(const RowKernel& kernel) {
    std::mt19937_64 random(5);
    for (const std::size_t columns : {std::size_t{0}, std::size_t{1}, std::size_t{9}, std::size_t{1100}}) {
        constexpr std::size_t rows = 40;
        std::vector<float> narrow(rows * columns);
        for (float& x : narrow) x = random() % 3 ? static_cast<float>(static_cast<int>(random() % 100)) - 50 : 0;
        std::vector<double> x(narrow.begin(), narrow.end());
        std::vector<std::int16_t> whole(narrow.begin(), narrow.end());
        const auto input = [&](const auto& from, Type type) {
            return DenseRows{reinterpret_cast<const char*>(from.data()),
                             static_cast<std::ptrdiff_t>(columns * sizeof from[0]),
                             type,
                             nullptr,
                             columns,
                             rows};
        };
        Rows given;
        given.weight.assign(rows, 1.0);
        std::vector<std::string> names;
        for (std::size_t j = 0; j < columns; ++j)
            names.push_back((j % 4 == 2 && columns < 20 ? "column=" : "column ") + std::to_string(j));
        Seen wanted;
        wanted.kinds.assign(std::min<std::size_t>(columns, 1024), 0);
        for (std::size_t r = 0; r < rows; ++r) {
            const double* row = x.data() + r * columns;
            wanted.raw.emplace_back(row, row + wanted.kinds.size());
            Row& to = given.rows.emplace_back();
            for (std::size_t j = 0; j < columns; ++j) to.emplace_back(names[j], row[j]);
        }
        std::vector<Column> apart;
        for (std::size_t j = 0; j < columns; ++j) {
            apart.push_back({reinterpret_cast<const char*>(x.data() + j), static_cast<std::ptrdiff_t>(columns * 8),
                             Type::f64, static_cast<std::uint32_t>(1 + j)});
            apart.back().number = static_cast<std::int64_t>(j);
        }
        const DenseRows one_by_one{nullptr, 0, Type::f64, apart.data(), columns, rows};
        for (const bool center : {false, true}) {
            for (const Pairs pairs : {Pairs::none, Pairs::all}) {
                if (columns > 100 && pairs == Pairs::all) continue;
                for (const std::size_t at_once : {std::size_t{1}, std::size_t{1000}}) {
                    const auto arrays = [&](const DenseRows& from, const std::string& what) {
                        Encoder to(collecting(center, pairs), kernel);
                        DenseSource dense(from);
                        dense.begin_learning(to, true);
                        check(taken(to, dense, given, at_once).same_raw(wanted), "raw values of " + what);
                    };
                    arrays(input(x, Type::f64), "arrays");
                    arrays(input(narrow, Type::f32), "arrays of float32");
                    arrays(input(whole, Type::i16), "arrays of integers");
                    arrays(one_by_one, "arrays by column");
                    // A table of numbers.
                    Encoder to(collecting(center, pairs), kernel);
                    Table columns_of{{}, rows};
                    for (std::size_t j = 0; j < columns; ++j) {
                        columns_of.columns.emplace_back().name = names[j];
                        columns_of.columns.back().numbers = apart[j];
                    }
                    TableSource table(columns_of);
                    table.begin_learning(to, true);
                    check(taken(to, table, given, at_once).same_raw(expected(given)), "raw values of named columns");
                }
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------- other properties

// The order within a row does not matter, even if a name occurs several times.
void repeated(const RowKernel& kernel) {
    Row row{{"a", 0.1}, {"b", 2}, {"a", 0.7}, {"t=x", 1}, {"a", -0.2}, {"t=y", 1}, {"a", 0.3}};
    Seen first;
    for (int turn = 0; turn < 7; ++turn) {
        Encoder to(collecting(false, Pairs::none), kernel);
        to.use_names();
        Rows known;
        known.rows = {{{"a", 1}, {"b", 1}, {"t=x", 1}, {"t=y", 1}}, row};
        known.weight = {1, 1};
        const NamedRows names = named(known);
        NamedSource in(names);
        const Seen seen = taken(to, in, known, 10);
        if (turn == 0) {
            first = seen;
            check(same(seen.raw[1][0], seen.entries[1][0].second), "what stands there twice is added up");
            check(seen.raw[1][2] == 4, "the largest feature counts");
        }
        check(seen.same_raw(first), "the order within a row does not matter");
        std::rotate(row.begin(), row.begin() + 1, row.end());
    }
}

// Without linear terms for numbers, only the text features of the linear rows remain.
void without_numbers(const RowKernel& kernel) {
    const Rows given = mixed(1, 50);
    const NamedRows names = named(given);
    EncoderSetup setup = collecting(false, Pairs::none), less = setup;
    less.numbers_linear = false;
    Encoder a(setup, kernel), b(less, kernel), c(less, kernel);
    for (Encoder* each : {&a, &b, &c}) each->use_names();
    NamedSource in(names), again(names);
    Seen all = taken(a, in, given, 100);
    const Seen some = taken(b, again, given, 100);
    for (auto& row : all.entries)
        std::erase_if(row, [&](const auto& entry) {
            return a.features().names()[entry.first - 1].find('=') == std::string::npos;
        });
    check(all.same_raw(some), "raw values are the same without linear terms");
    check(all.entries == some.entries, "text stays");
    check(one_by_one(c, given).entries == some.entries, "text stays in rows one by one");

    constexpr std::size_t rows = 5, columns = 1030;
    std::vector<double> x(rows * columns, 2.5);
    for (const bool center : {false, true}) {
        less.center = center;
        Encoder d(less, kernel);
        d.use_columns(columns);
        DenseSource dense({reinterpret_cast<const char*>(x.data()), columns * 8, Type::f64, nullptr, columns, rows});
        Seen seen;
        seen.add(d.encode(dense, 0, rows, Purpose::predict, nullptr));
        check(seen.entries[0].size() == columns - 1024 && seen.entries[0][0].first == 1025,
              "columns that are not among the raw ones stay");
    }
}

// Raw values are collected only with the option `raw`.
void off(const RowKernel& kernel) {
    Encoder to(EncoderSetup{}, kernel);
    to.use_names();
    const Rows given = mixed(1, 5);
    const NamedRows names = named(given);
    NamedSource in(names);
    const Batch input = to.encode(in, 0, 5, Purpose::learn, nullptr);
    check(!input.raw && !input.raw_counts && !input.raw_kinds, "without raw values there are none");
}

// ---------------------------------------------------------------------------------------------------- learners

void automatic(const Kernel& kernel) {
    constexpr std::size_t rows = 6;
    std::vector<double> x(rows * 1001), y(rows, 1.0), none(rows, 0.0), p;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 7);
    const auto dense = [&](std::size_t columns) {
        return DenseRows{reinterpret_cast<const char*>(x.data()),
                         static_cast<std::ptrdiff_t>(columns * 8),
                         Type::f64,
                         nullptr,
                         columns,
                         rows};
    };
    const std::int32_t starts[] = {0, 1}, indices[] = {1};
    const double values[] = {2.0};
    const SparseRows sparse{values, indices, starts, false, 1, 3, 1};
    const Labels labels{y.data(), nullptr}, weightless{y.data(), none.data()};
    Setup setup;
    setup.engine.form.model_type = ModelType::automatic;
    const auto refused = [&](const auto& action) {
        try {
            action();
        } catch (const InputError&) {
            return true;
        }
        return false;
    };
    const auto settled = [&](const auto& action) {
        Learner learner(setup, kernel);
        check(learner.snapshot().settled.model_type == ModelType::automatic, "nothing is settled at first");
        predict(learner, dense(3), false, p);
        predict(learner, sparse, false, p);
        learn(learner, dense(3), weightless, p);
        check(learner.snapshot().settled.model_type == ModelType::automatic, "rows without weight settle nothing");
        x[4] = nothing;
        check(refused([&] { learn(learner, dense(3), labels, p); }), "bad input is refused");
        x[4] = 4;
        check(learner.snapshot().settled.model_type == ModelType::automatic, "bad input settles nothing");
        action(learner);
        const Snapshot saved = learner.snapshot();
        Learner copy(setup, kernel);
        copy.restore(saved);
        check(copy.snapshot().settled == saved.settled, "a restored learner is settled");
        return saved.settled.model_type;
    };
    const Rows given = mixed(2, rows);
    const OwnTable own(given, mixed_names);
    check(settled([&](Learner& m) { learn(m, dense(3), labels, p); }) == ModelType::trees, "arrays");
    check(settled([&](Learner& m) { learn(m, dense(1001), labels, p); }) == ModelType::linear, "wide arrays");
    check(settled([&](Learner& m) { learn(m, sparse, labels, p); }) == ModelType::linear, "sparse matrices");
    check(settled([&](Learner& m) { learn(m, own.table, labels, p); }) == ModelType::trees, "tables");
    check(settled([&](Learner& m) { learn(m, named(given), labels, p); }) == ModelType::linear, "sparse text");
    setup.encoder.bits = 4;
    check(settled([&](Learner& m) { learn(m, dense(3), labels, p); }) == ModelType::linear, "hashed");
    setup.engine.form.model_type = ModelType::trees;
    check(refused([&] { Learner(setup, kernel); }), "hashed features have no trees");
    setup.encoder.bits.reset();
    Learner trees(setup, kernel);
    check(refused([&] { learn(trees, sparse, labels, p); }) && refused([&] { predict(trees, sparse, false, p); }),
          "trees do not take sparse matrices");
    learn(trees, dense(3), labels, p);
    Snapshot other = trees.snapshot();
    other.settled.model_type = ModelType::curves;
    check(refused([&] { trees.restore(other); }), "another shape is refused");
    setup.engine.form.model_type = ModelType::automatic;
    other.settled.model_type = ModelType::automatic;
    check(refused([&] { Learner(setup, kernel).restore(other); }), "what has learned is settled");
}

}  // namespace

int main() {
    for (const auto& [name, kernel] : supported_kernels()) {
        mixed_rows(*kernel->rows);
        rewound(*kernel->rows);
        dense_rows(*kernel->rows);
        repeated(*kernel->rows);
        without_numbers(*kernel->rows);
        off(*kernel->rows);
        automatic(*kernel);
    }
    std::printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
