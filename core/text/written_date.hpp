// Dates and times as people write them. A form says in which order day, month and year stand; everything else may vary
// from value to value: the marks between them, whether there is a time, seconds, fractions, AM or PM, a zone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "text/written_number.hpp"

namespace unitless {

enum class DateForm {
    year_first,
    day_first,
    month_first,
    together,
    day_and_name,
    name_and_day,
    year_last,
    month_of_year,
    name_and_year,
    time
};

// The name of each form is an example of it.
inline constexpr std::array<std::string_view, 10> date_forms = {
    "2020-02-13",  "13/02/2020",           "02/13/2020", "20200213", "13 Feb 2020",
    "Feb 13 2020", "Feb 13 10:30:00 2020", "2020-02",    "Feb 2020", "10:30"};

inline std::optional<DateForm> date_form_named(std::string_view name) {
    for (std::size_t k = 0; k < date_forms.size(); ++k)
        if (date_forms[k] == name) return static_cast<DateForm>(k);
    return std::nullopt;
}

// A moment in microseconds since 1970, as a clock on the spot shows it, and by how much that is ahead of UTC.
struct Moment {
    std::int64_t wall = 0, ahead = 0;
};

namespace written {

// Days since 1970 in the Gregorian calendar. Years are counted from March, so that leap days come last.
constexpr std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
    year -= month <= 2;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    const std::int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

inline constexpr std::int64_t minute_length = 60'000'000, day_length = 1440 * minute_length;
inline constexpr std::int64_t last_moment = days_since_1970(10000, 1, 1) * day_length;

class DateReader {
  public:
    explicit DateReader(std::string_view text) : rest_(text) {}

    std::optional<Moment> read(DateForm form) {
        if (!parts(form) || !rest_.empty()) return std::nullopt;
        return moment(form == DateForm::time ? day_length : last_moment);
    }

  private:
    std::string_view rest_;
    int year_ = 1970, month_ = 1, day_ = 1, hour_ = 0, minute_ = 0, second_ = 0, micro_ = 0, zone_ = 0;
    enum class Half { none, morning, afternoon } half_ = Half::none;

    bool parts(DateForm form) {
        switch (form) {
            case DateForm::year_first:
                return digits(4, 4, year_) && marked(month_, day_) && optional_time(&DateReader::loose_time);
            case DateForm::day_first:
                return digits(1, 2, day_) && marked(month_) && optional_time(&DateReader::time_after);
            case DateForm::month_first:
                return digits(1, 2, month_) && marked(day_) && optional_time(&DateReader::time_after);
            case DateForm::together:
                return digits(4, 4, year_) && digits(2, 2, month_) && digits(2, 2, day_) &&
                       optional_time(&DateReader::close_time);
            case DateForm::day_and_name:
                day_of_week();
                if (!digits(1, 2, day_)) return false;
                ordinal();
                any_of("-/ ");
                if (!month_name()) return false;
                any_of("-/ ,");
                any_of(" ");
                return any_year() && optional_time(&DateReader::time_after);
            case DateForm::name_and_day:
                day_of_week();
                if (!month_name()) return false;
                any_of("-/ ");
                any_of(" ");
                if (!digits(1, 2, day_)) return false;
                ordinal();
                return any_of("-/ ") && any_year() && optional_time(&DateReader::time_after);
            case DateForm::year_last:
                day_of_week();
                if (!month_name() || !any_of(" ")) return false;
                any_of(" ");
                return digits(1, 2, day_) && any_of(" ") && clock() && zone() && any_of(" ") && digits(4, 4, year_);
            case DateForm::month_of_year:
                return digits(4, 4, year_) && any_of("-/") && digits(2, 2, month_);
            case DateForm::name_and_year:
                if (!month_name()) return false;
                any_of("-/ ,");
                any_of(" ");
                return digits(4, 4, year_);
            case DateForm::time:
                return clock();
        }
        return false;
    }

    std::optional<Moment> moment(std::int64_t end) const {
        if (year_ < 1 || month_ < 1 || month_ > 12 || day_ < 1) return std::nullopt;
        const std::int64_t days = days_since_1970(year_, month_, day_);
        if (days >= days_since_1970(year_ + month_ / 12, month_ % 12 + 1, 1)) return std::nullopt;  // 31 February
        const bool end_of_day = hour_ == 24 && minute_ == 0 && second_ == 0;
        if ((hour_ > 23 && !end_of_day) || minute_ > 59 || second_ > 60) return std::nullopt;  // 60: a leap second
        if (half_ != Half::none && (hour_ < 1 || hour_ > 12)) return std::nullopt;
        const int hour = half_ == Half::none ? hour_ : hour_ % 12 + (half_ == Half::afternoon ? 12 : 0);
        const std::int64_t wall =
            days * day_length + (hour * 60 + minute_) * minute_length + second_ * 1'000'000 + micro_;
        if (wall >= end) return std::nullopt;
        return Moment{wall, zone_ * minute_length};
    }

    // ------------------------------------------------------------------------------------------------ times

    bool optional_time(bool (DateReader::*time)()) { return rest_.empty() || (this->*time)(); }

    // 10:30, 10:30:15.5, 1:30 PM
    bool clock() {
        return digits(1, 2, hour_) && any_of(":") && digits(2, 2, minute_) && (!any_of(":") || seconds()) && half();
    }
    bool time_after() {
        if (!any_of("T_:")) {
            any_of(",");
            if (!any_of(" ")) return false;
            any_of(" ");
            word("at ");
        }
        return clock() && zone();
    }
    // Also 9 and 103015.
    bool loose_time() {
        if (!any_of("T_")) {
            if (!any_of(" ")) return false;
            any_of(" ");
        }
        const int run = digits_ahead();
        if (!(run <= 2 ? digits(1, 2, hour_) : run % 2 ? digits(1, 1, hour_) : digits(2, 2, hour_))) return false;
        return minutes(false) && half() && zone();
    }
    bool close_time() {
        any_of("T_ ");
        return digits(2, 2, hour_) && minutes(true) && zone();
    }
    bool minutes(bool needed) {
        if (!any_of(":") && !digits_ahead()) return !needed;
        if (!digits(2, 2, minute_)) return false;
        return any_of(":") || digits_ahead() ? seconds() : true;
    }
    bool seconds() {
        if (!digits(2, 2, second_)) return false;
        if (!any_of(".,")) return true;
        const int count = digits_ahead();
        if (count < 1 || count > 9) return false;
        for (int k = 0, unit = 100'000; k < count; ++k, unit /= 10) micro_ += (rest_[k] - '0') * unit;
        rest_.remove_prefix(static_cast<std::size_t>(count));
        return true;
    }
    // AM, pm, a.m.; nothing else is taken.
    bool half() {
        const std::string_view before = rest_;
        any_of(" ");
        const char letter = any_of("AaPp");
        if (letter) any_of(".");
        if (letter && any_of("Mm")) {
            any_of(".");
            half_ = letter == 'A' || letter == 'a' ? Half::morning : Half::afternoon;
        } else {
            rest_ = before;
        }
        return true;
    }
    // Z, UTC, +01:00, GMT+0100, PST; then perhaps a name in parentheses.
    bool zone() {
        std::string_view before = rest_;
        any_of(" ");
        if (!any_of("Zz") && !word("UTC") && !word("GMT")) rest_ = before;
        before = rest_;
        any_of(" ");
        if (const char sign = any_of("+-")) {
            int hours = 0, minutes = 0;
            if (!digits(2, 2, hours)) return false;
            if (any_of(":") ? !digits(2, 2, minutes) : digits_ahead() && !digits(2, 2, minutes)) return false;
            if (hours > 15 || minutes > 59) return false;
            zone_ = (sign == '-' ? -1 : 1) * (hours * 60 + minutes);
        } else if (!named_zone()) {
            rest_ = before;
        }
        before = rest_;
        if (word(" (")) {
            std::size_t k = 0;
            while (k < rest_.size() && (is_letter(rest_[k]) || rest_[k] == ' ')) ++k;
            rest_.remove_prefix(k);
            if (!k || !any_of(")")) rest_ = before;
        }
        return true;
    }
    // The names of RFC 2822. Others mean different things in different countries.
    bool named_zone() {
        if (rest_.size() < 3 || rest_[2] != 'T' || (rest_[1] != 'S' && rest_[1] != 'D')) return false;
        const std::size_t place = std::string_view("ECMP").find(rest_[0]);
        if (place == std::string_view::npos) return false;
        zone_ = -60 * (5 + static_cast<int>(place) - (rest_[1] == 'D'));
        rest_.remove_prefix(3);
        return true;
    }

    // ------------------------------------------------------------------------------------------------ dates

    // The rest of 13/02/2020, with the same mark both times.
    bool marked(int& middle) {
        const char mark = any_of("-/.");
        return mark && digits(1, 2, middle) && any_of({&mark, 1}) && any_year();
    }
    bool marked(int& middle, int& last) {
        const char mark = any_of("-/.");
        return mark && digits(1, 2, middle) && any_of({&mark, 1}) && digits(1, 2, last);
    }
    // Of two digits as POSIX has it: 69 to 99 are in the twentieth century.
    bool any_year() {
        if (digits_ahead() >= 4) return digits(4, 4, year_);
        if (!digits(2, 2, year_)) return false;
        year_ += year_ < 69 ? 2000 : 1900;
        return true;
    }
    void ordinal() {
        for (const std::string_view ending : {"st", "nd", "rd", "th"})
            if (word(ending)) break;
        any_of(",");
    }
    void day_of_week() {
        const std::string_view before = rest_;
        for (const std::string_view name : {"mon", "tue", "wed", "thu", "fri", "sat", "sun"}) {
            if (!word_of_any_case(name)) continue;
            for (int k = 0; k < 6 && !rest_.empty() && is_letter(rest_.front()); ++k) rest_.remove_prefix(1);
            any_of(",");
            if (!any_of(" ")) rest_ = before;
            return;
        }
    }
    bool month_name() {
        static constexpr std::array<std::string_view, 12> names = {"january",   "february", "march",    "april",
                                                                   "may",       "june",     "july",     "august",
                                                                   "september", "october",  "november", "december"};
        for (std::size_t k = 0; k < names.size(); ++k) {
            if (!word_of_any_case(names[k]) && !(k == 8 && word_of_any_case("sept")) &&
                !word_of_any_case(names[k].substr(0, 3)))
                continue;
            month_ = static_cast<int>(k) + 1;
            any_of(".");
            return true;
        }
        return false;
    }

    // ------------------------------------------------------------------------------------------------ letters

    static bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
    static bool is_letter(char letter) { return (letter | 0x20) >= 'a' && (letter | 0x20) <= 'z'; }

    int digits_ahead() const {
        std::size_t count = 0;
        while (count < rest_.size() && count < 20 && is_digit(rest_[count])) ++count;
        return static_cast<int>(count);
    }
    bool digits(int least, int most, int& value) {
        int count = 0;
        for (value = 0; count < most && !rest_.empty() && is_digit(rest_.front()); ++count) {
            value = value * 10 + (rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        return count >= least;
    }
    // The next letter, if it is one of these.
    char any_of(std::string_view letters) {
        if (rest_.empty() || letters.find(rest_.front()) == std::string_view::npos) return '\0';
        const char letter = rest_.front();
        rest_.remove_prefix(1);
        return letter;
    }
    bool word(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
    bool word_of_any_case(std::string_view text) {  // which is in small letters
        if (rest_.size() < text.size()) return false;
        for (std::size_t k = 0; k < text.size(); ++k)
            if (!is_letter(rest_[k]) || (rest_[k] | 0x20) != text[k]) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
};

}  // namespace written

// The moment that a text stands for, if it is one.
inline std::optional<Moment> read_date(std::string_view text, DateForm form) {
    return written::DateReader(written::trimmed(text)).read(form);
}

}  // namespace unitless
