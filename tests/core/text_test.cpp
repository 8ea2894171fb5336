// Tests of the text readers: random bytes, chunks that end anywhere, lines of any length. Chunks are copied to memory
// of their exact size, so that the sanitizers detect a read beyond them.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "calls.hpp"
#include "learner/learner.hpp"
#include "text/csv_rows.hpp"
#include "text/csv_table.hpp"
#include "text/libsvm_text.hpp"
#include "text/row_places.hpp"
#include "text/text_gather.hpp"
#include "text/vw_text.hpp"

using namespace unitless;

namespace {

int checks = 0, failures = 0;

void check(bool condition, const char* what) {
    ++checks;
    if (condition) return;
    ++failures;
    std::printf("FAILED: %s\n", what);
}

std::string shown_rows(const TextRows& rows, std::size_t first_line) {
    std::string text;
    const NamedRows& features = rows.features;
    check(rows.label.size() == rows.rows() && rows.weight.size() == rows.rows() && rows.line.size() == rows.rows(),
          "a label, a weight and a line for each row");
    check(features.ids.size() == features.values.size(), "a value for each feature");
    std::vector<bool> used(features.names());
    for (std::size_t row = 0, k = 0; row < rows.rows(); ++row) {
        text += std::to_string(first_line + rows.line[row]) + " " + std::to_string(rows.label[row]) + " " +
                std::to_string(rows.weight[row]) + " " + std::string(rows.tag(row)) + "|";
        for (; k < features.row_ends[row]; ++k) {
            text += " " + std::string(features.name(features.ids[k])) + ":" + std::to_string(features.values[k]);
            used[features.ids[k]] = true;
        }
        text += "\n";
    }
    bool all = true;
    for (const bool one : used) all = all && one;
    check(all, "bad lines leave no names behind");
    for (const auto& bad : rows.bad) {
        text += std::to_string(first_line + bad.line) + " " + bad.problem + "\n";
        check(is_utf8(bad.problem), "messages are text");
    }
    return text;
}

std::vector<std::string> sorted_lines(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

// Reads the text in chunks that end at `cuts`.
template <class MakeReader>
std::vector<std::string> read_all(MakeReader make_reader, const std::string& text, std::vector<std::size_t> cuts) {
    cuts.push_back(text.size());
    auto reader = make_reader();
    std::string seen;
    std::size_t begin = 0, lines = 0;
    for (const std::size_t cut : cuts) {
        const auto copy = std::make_unique<char[]>(cut - begin);
        std::memcpy(copy.get(), text.data() + begin, cut - begin);
        const TextRows rows = reader.read(copy.get(), cut - begin, cut == text.size());
        seen += shown_rows(rows, lines);
        begin += rows.bytes_used;
        lines += rows.lines;
    }
    check(begin == text.size(), "all of the text is read");
    return sorted_lines(seen);
}

template <class MakeReader>
void cut_anywhere(MakeReader make_reader, const std::string& text) {
    const auto whole = read_all(make_reader, text, {});
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
        check(read_all(make_reader, text, {cut}) == whole, "a cut changes nothing");
        read_all(make_reader, text.substr(0, cut), {});
    }
}

template <class MakeReader>
void random_text(MakeReader make_reader, const std::string& alphabet) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        const std::size_t length = random() % (round % 10 == 0 ? 3000 : 200);
        for (std::size_t i = 0; i < length; ++i)
            text += random() % 50 == 0 ? static_cast<char>(random() % 256) : alphabet[random() % alphabet.size()];
        const auto whole = read_all(make_reader, text, {});
        const std::size_t cut = length == 0 ? 0 : random() % length;
        check(read_all(make_reader, text, {cut}) == whole, "a cut changes nothing in random text");
    }
}

void long_lines() {
    VwReader vw;
    LibsvmReader libsvm(false);
    std::string line = "1 |a", row = "1";
    for (int i = 0; i < 300000; ++i) {
        line += " name_" + std::to_string(i) + ":" + std::to_string(i);
        row += " " + std::to_string(i + 1) + ":0.5";
    }
    check(vw.read(line.data(), line.size(), false).bytes_used == 0, "a line without end is not read");
    check(vw.read(line.data(), line.size(), true).features.names() == 300000, "a long line");
    check(libsvm.read(row.data(), row.size(), true).features.names() == 300000, "a long line of libsvm");
    const std::string name = "1 | " + std::string(3000000, 'x') + ":2\n", blanks(3000000, ' ');
    check(vw.read(name.data(), name.size(), true).features.name(0).size() == 3000000, "a long name");
    check(vw.read(blanks.data(), blanks.size(), true).rows() == 0, "a long line of blanks");
    const std::string bars(100000, '|'), colons = "1 | " + std::string(100000, ':');
    check(vw.read(bars.data(), bars.size(), true).rows() == 1, "many bars");
    check(vw.read(colons.data(), colons.size(), true).bad_count == 1, "many colons");
    std::string lines;
    for (int i = 0; i < 5000; ++i) lines += "1 | new" + std::to_string(i) + ":2 x:1,5\n";
    const TextRows bad = vw.read(lines.data(), lines.size(), true);
    check(bad.bad_count == 5000 && bad.bad.size() == 1000 && bad.features.names() == 0, "many bad lines");
    const std::string hashes = "1 4000000000:1\n1 4294967293:1 5:1\n1 4294967294:1\n";
    const TextRows hashed = libsvm.read(hashes.data(), hashes.size(), true);
    check(hashed.features.names() == 3 && hashed.bad_count == 1, "indices that are hashes");
}

// Random CSV gives the same rows as a whole and when it is divided between rows.
void random_csv() {
    std::mt19937_64 random(11);
    const std::string alphabet = "0123.5e-,,,\n\n\"\"ab \r";
    for (int round = 0; round < 5000; ++round) {
        std::string text;
        const std::size_t length = random() % (round % 10 == 0 ? 2000 : 100);
        for (std::size_t i = 0; i < length; ++i)
            text += random() % 60 == 0 ? static_cast<char>(random() % 256) : alphabet[random() % alphabet.size()];
        std::vector<CsvKind> kinds;
        for (std::size_t j = 0; j < 1 + random() % 4; ++j) kinds.push_back(static_cast<CsvKind>(random() % 5));
        CsvReader reader(kinds, ',');
        const std::vector<char> exact(text.begin(), text.end());
        const auto whole = reader.read(exact.data(), exact.size());
        const std::size_t cut = row_end(exact.data(), exact.size(), ',', false);
        check(cut <= exact.size(), "a row ends within the text");
        if (!whole) continue;
        const auto first = reader.read(exact.data(), cut), rest = reader.read(exact.data() + cut, exact.size() - cut);
        check(first && rest && first->rows + rest->rows == whole->rows, "a cut between rows changes nothing");
    }
}

// Quotes make a line end part of a value, and an empty line a row.
void quoted_csv() {
    const auto read = [](std::vector<CsvKind> kinds, const std::string& text) {
        return CsvReader(std::move(kinds), ',').read(text.data(), text.size());
    };
    const auto values = [](const std::optional<CsvTable>& table, std::size_t column) {
        const auto& text = table->texts[column].text;
        return std::string(text.begin(), text.end());
    };
    const auto returns = read({CsvKind::text, CsvKind::text}, "a,\"b\r\"\nc,\"d\"\r\n");
    check(returns && returns->rows == 2 && values(returns, 1) == "b\rd",
          "a carriage return inside quotes is part of the value");
    const auto empty = read({CsvKind::text}, "a\n\"\"\n\n\r\n\"\r\"\n");
    check(empty && empty->rows == 3 && values(empty, 0) == "a\r", "an empty field in quotes is a row");
    check(!read({CsvKind::text, CsvKind::text}, "a,b\n\"\"\n"), "a row with too few fields is not passed over");
    check(CsvReader({CsvKind::number}, ',').read(nullptr, 0)->rows == 0, "no text, no rows");
    const auto pairs = read({CsvKind::text, CsvKind::number}, "\"a\"\"b\"\"\",\"1\"\n\"\"\"\",2\n");
    check(
        pairs && pairs->rows == 2 && values(pairs, 0) == "a\"b\"\"" && pairs->numbers[0] == 1 && pairs->numbers[1] == 2,
        "two quotes inside quotes stand for one");
}

// A number can mean a missing value, however it is written and whether or not other cells are quoted.
void numbers_as_marks() {
    for (const char decimal : {'.', ','}) {
        for (const std::string last : {"3", "\"3\""}) {
            const std::vector<NumberForm> forms(2, {decimal});
            CsvReader reader({CsvKind::number, CsvKind::number}, ';', forms, MissingMarks({"99", "-999"}));
            const std::string text = "1;99\n-999;99\n2;" + last + "\n";
            const auto table = reader.read(text.data(), text.size());
            check(table && table->missing == std::vector<std::int64_t>{1, 2} && table->numbers[0] == 1 &&
                      table->numbers[4] == 2 && table->numbers[5] == 3,
                  "numbers that are marks are missing");
        }
    }
}

// The positions of rows, as other CSV readers find them.
void places_of_rows() {
    const auto rows = [](std::string_view text) { return find_row_places(text, ',', '\0', 1000, 0).rows; };
    check(rows("a,b\n\nc,d\r\n\r\n1,2") == 3, "empty lines are not rows");
    check(rows("\"a\nb\",c\nd,\"\"\"\n\"\"\"\n") == 2, "a quoted newline ends no row");
    check(rows("a,b\rc,\"d\re\"\r\rf,g\n") == 3, "a carriage return outside quotes ends a row");
    check(rows("a\"\",b\rc,d\n") == 2, "a quote inside a field opens nothing");
    check(rows("a,\"b\nc,d\n") == 1, "a quote that is not closed reaches to the end");
    const RowPlaces lines = find_row_places("1 |x\n\n# note\n2 |y\n", '\0', '#', 1, 0);
    check(lines.rows == 2 && lines.numbers == 4 && lines.offsets == std::vector<std::int64_t>{5, 18} &&
              lines.numbers_before == std::vector<std::int64_t>{1, 4},
          "blank lines and comments are numbered, and are no rows");
}

// A learner predicts the same for rows of text and for a table with the same rows.
void tables_and_rows() {
    const std::size_t rows = 300;
    std::vector<double> age(rows), y(rows);
    std::vector<std::int32_t> job(rows);
    const std::string values = "clerkpilotcook";
    const std::vector<std::int64_t> ends{0, 5, 10, 14};
    std::mt19937_64 random(3);
    std::string text;
    for (std::size_t r = 0; r < rows; ++r) {
        age[r] = random() % 7 == 0 ? std::nan("") : static_cast<double>(random() % 1000);
        job[r] = static_cast<std::int32_t>(random() % 4) - 1;
        y[r] = static_cast<double>(random() % 100);
        text += std::to_string(y[r]) + " |";
        if (!std::isnan(age[r])) text += " age:" + std::to_string(age[r]);
        if (job[r] >= 0) {
            const auto k = static_cast<std::size_t>(job[r]);
            text += " job=" +
                    values.substr(static_cast<std::size_t>(ends[k]), static_cast<std::size_t>(ends[k + 1] - ends[k]));
        }
        text += "\n";
    }
    Table table{{}, rows, true};
    TableColumn numbers, names;
    numbers.name = "age";
    numbers.numbers = {reinterpret_cast<const char*>(age.data()), sizeof(double), Type::f64, 0};
    names.name = "job";
    names.codes = job.data();
    names.text = values.data();
    names.ends = ends.data();
    names.values = 3;
    table.columns = {numbers, names};
    const TextRows read = VwReader().read(text.data(), text.size(), true);
    check(read.rows() == rows, "all rows are read");
    for (const bool lanes : {false, true}) {
        Setup setup;
        if (lanes) {
            setup.engine.rates = {0.1, 0.5, 1.0};
            setup.engine.last_rate = 2;
            setup.engine.selecting = Selecting::follow;
        }
        Learner a(setup, kernel_baseline), b(setup, kernel_baseline);
        std::vector<double> p(rows), q(rows);
        learn(a, table, {y.data(), nullptr}, p);
        learn(b, read.features, {y.data(), nullptr}, q);
        check(p == q, "a table and its rows are learned alike");
        predict(a, table, false, p);
        predict(b, read.features, false, q);
        check(p == q, "a table and its rows are predicted alike");
    }
}

// Rows that are gathered in another order equal the rows that a reader makes of their lines in that order.
template <class MakeReader>
void gathered_rows(MakeReader make_reader, const std::vector<std::string>& lines) {
    std::mt19937 random(5);
    for (int round = 0; round < 50; ++round) {
        std::vector<TextRows> chunks;
        std::vector<std::int64_t> piece, row;
        auto reader = make_reader();
        for (std::size_t at = 0; at < lines.size();) {
            std::string text;
            const std::size_t count = 1 + random() % 4, first = at;
            for (; at < lines.size() && at < first + count; ++at) text += lines[at] + "\n";
            chunks.push_back(reader.read(text.data(), text.size(), true));
            for (std::size_t k = first; k < at; ++k) {
                piece.push_back(static_cast<std::int64_t>(chunks.size() - 1));
                row.push_back(static_cast<std::int64_t>(k - first));
            }
        }
        std::vector<TextRows*> pieces;
        for (TextRows& chunk : chunks) pieces.push_back(&chunk);
        std::vector<std::size_t> order(lines.size());
        for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
        std::shuffle(order.begin(), order.end(), random);
        std::string text;
        std::vector<std::int64_t> from, at;
        for (const std::size_t k : order) {
            text += lines[k] + "\n";
            from.push_back(piece[k]);
            at.push_back(row[k]);
        }
        auto again = make_reader();
        const TextRows expected = again.read(text.data(), text.size(), true);
        const TextRows found = gathered(pieces, {from.data(), at.data(), from.size()}, chunks.back().first_index,
                                        chunks.back().next_index);
        // libsvm's reader inserts indices with the value 0, which may be in another row after gathering.
        const auto rows_of = [](const TextRows& rows) {
            std::string shown;
            for (std::size_t r = 0, k = 0; r < rows.rows(); ++r) {
                shown +=
                    std::to_string(rows.label[r]) + " " + std::to_string(rows.weight[r]) + std::string(rows.tag(r));
                for (; k < rows.features.row_ends[r]; ++k)
                    if (rows.features.values[k] != 0)
                        shown += " " + std::string(rows.features.name(rows.features.ids[k])) + ":" +
                                 std::to_string(rows.features.values[k]);
                shown += "\n";
            }
            return shown;
        };
        check(rows_of(found) == rows_of(expected), "gathered rows are those of lines in that order");
        check(found.features.text == expected.features.text && found.features.name_ends == expected.features.name_ends,
              "gathered rows have their names in the order in which a reader finds them");
    }
}

}  // namespace

int main() {
    const auto vw = [] { return VwReader(); };
    const auto from_one = [] { return LibsvmReader(false); };
    const auto from_zero = [] { return LibsvmReader(true); };
    cut_anywhere(vw,
                 "1 | x:2 y\n-1 2.5 'tag|a:2 x:-1.5e-3 :4 long_long_name:1234567.875 |b x\r\n\n\xef\xbb\xbf | (bias)\n"
                 "0 1 0 t| a^x:1 :0\n1 |a x:1e999\nno bar\n1 |\n\r\n2 | \xc3\xa4:3 \xff:1\n3 | last:0.1");
    cut_anywhere(
        from_one,
        "+1 1:2 5:0.25 # comment: 3\n\n# all\n-1 qid:1 2:3\n2.5 7:1e-3 3:4\r\n1,2 1:1\n1 0:1\n1 8 9:1\n1 900:1");
    random_text(vw, "01.5e- |:ab'\n\r\t");
    random_text(from_zero, "0123.5e- :#\n\r\tqd");
    long_lines();
    gathered_rows(vw, {"1 | x:2 y", "-1 2.5 'tag|a:2 x:-1.5 long_long_name:3 |b x", "0 1 0 t| a^x:1 :4", "3 | last:0.1",
                       "2 |a x:1 y", "1 | y x", "0 |", "5 'u| z x:3"});
    gathered_rows(from_one, {"1 1:2 5:0.25", "-1 2:3", "2.5 3:4 7:1", "1 9:1", "2", "0 1:5 9:2", "3 4:1"});
    random_csv();
    quoted_csv();
    numbers_as_marks();
    places_of_rows();
    tables_and_rows();
    std::printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
