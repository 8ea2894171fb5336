// Reads dates and times in text. A form fixes the order of day, month and year. Everything else may vary from value to
// value: the separators, whether there is a time, seconds, fractions, AM or PM, a time zone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "text/characters.hpp"
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

struct Moment {
    std::int64_t wall = 0;   // microseconds since 1970 in local time
    std::int64_t ahead = 0;  // difference to UTC, in microseconds
};

namespace written {

// Days since 1970 in the Gregorian calendar. Years begin in March here, so that a leap day is the last day of a year.
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
        if (!read_parts(form) || !rest_.empty()) return std::nullopt;
        return moment(form == DateForm::time ? day_length : last_moment);
    }

  private:
    std::string_view rest_;
    int year_ = 1970, month_ = 1, day_ = 1, hour_ = 0, minute_ = 0, second_ = 0, micro_ = 0, zone_ = 0;
    enum class HalfDay { none, am, pm } half_day_ = HalfDay::none;

    bool read_parts(DateForm form) {
        switch (form) {
            case DateForm::year_first:
                return take_digits(4, 4, year_) && numbers(month_, day_) && optional_time(&DateReader::loose_time);
            case DateForm::day_first:
                return take_digits(1, 2, day_) && number_and_year(month_) &&
                       optional_time(&DateReader::time_after_date);
            case DateForm::month_first:
                return take_digits(1, 2, month_) && number_and_year(day_) &&
                       optional_time(&DateReader::time_after_date);
            case DateForm::together:
                return take_digits(4, 4, year_) && take_digits(2, 2, month_) && take_digits(2, 2, day_) &&
                       optional_time(&DateReader::compact_time);
            case DateForm::day_and_name:
                skip_day_of_week();
                if (!take_digits(1, 2, day_)) return false;
                skip_ordinal();
                take_any_of("-/ ");
                if (!month_name()) return false;
                take_any_of("-/ ,");
                take_any_of(" ");
                return any_year() && optional_time(&DateReader::time_after_date);
            case DateForm::name_and_day:
                skip_day_of_week();
                if (!month_name()) return false;
                take_any_of("-/ ");
                take_any_of(" ");
                if (!take_digits(1, 2, day_)) return false;
                skip_ordinal();
                return take_any_of("-/ ") && any_year() && optional_time(&DateReader::time_after_date);
            case DateForm::year_last:
                skip_day_of_week();
                if (!month_name() || !take_any_of(" ")) return false;
                take_any_of(" ");
                return take_digits(1, 2, day_) && take_any_of(" ") && clock() && zone() && take_any_of(" ") &&
                       take_digits(4, 4, year_);
            case DateForm::month_of_year:
                return take_digits(4, 4, year_) && take_any_of("-/") && take_digits(2, 2, month_);
            case DateForm::name_and_year:
                if (!month_name()) return false;
                take_any_of("-/ ,");
                take_any_of(" ");
                return take_digits(4, 4, year_);
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
        if (half_day_ != HalfDay::none && (hour_ < 1 || hour_ > 12)) return std::nullopt;
        const int hour = half_day_ == HalfDay::none ? hour_ : hour_ % 12 + (half_day_ == HalfDay::pm ? 12 : 0);
        const std::int64_t wall =
            days * day_length + (hour * 60 + minute_) * minute_length + second_ * 1'000'000 + micro_;
        if (wall >= end) return std::nullopt;
        return Moment{wall, zone_ * minute_length};
    }

    // ------------------------------------------------------------------------------------------------ times

    bool optional_time(bool (DateReader::*time)()) { return rest_.empty() || (this->*time)(); }

    // 10:30, 10:30:15.5, 1:30 PM
    bool clock() {
        return take_digits(1, 2, hour_) && take_any_of(":") && take_digits(2, 2, minute_) &&
               (!take_any_of(":") || seconds()) && am_or_pm();
    }
    // T10:30, or blanks and 10:30 or at 10:30; then a zone.
    bool time_after_date() {
        if (!take_any_of("T_:")) {
            take_any_of(",");
            if (!take_any_of(" ")) return false;
            take_any_of(" ");
            take("at ");
        }
        return clock() && zone();
    }
    // T10:30, or blanks and 10:30; instead of 10:30 also 9 or 103015; then a zone.
    bool loose_time() {
        if (!take_any_of("T_")) {
            if (!take_any_of(" ")) return false;
            take_any_of(" ");
        }
        const int run = digits_ahead();
        if (!(run <= 2 ? take_digits(1, 2, hour_) : run % 2 ? take_digits(1, 1, hour_) : take_digits(2, 2, hour_)))
            return false;
        return minutes(false) && am_or_pm() && zone();
    }
    // T103015, 1030 or 10:30; then a zone.
    bool compact_time() {
        take_any_of("T_ ");
        return take_digits(2, 2, hour_) && minutes(true) && zone();
    }
    bool minutes(bool required) {
        if (!take_any_of(":") && !digits_ahead()) return !required;
        if (!take_digits(2, 2, minute_)) return false;
        return take_any_of(":") || digits_ahead() ? seconds() : true;
    }
    bool seconds() {
        if (!take_digits(2, 2, second_)) return false;
        if (!take_any_of(".,")) return true;
        const int count = digits_ahead();
        if (count < 1 || count > 9) return false;
        for (int k = 0, unit = 100'000; k < count; ++k, unit /= 10) micro_ += (rest_[k] - '0') * unit;
        rest_.remove_prefix(static_cast<std::size_t>(count));
        return true;
    }
    // AM, pm or a.m., if present.
    bool am_or_pm() {
        const std::string_view before = rest_;
        take_any_of(" ");
        const char letter = take_any_of("AaPp");
        if (letter) take_any_of(".");
        if (letter && take_any_of("Mm")) {
            take_any_of(".");
            half_day_ = letter == 'A' || letter == 'a' ? HalfDay::am : HalfDay::pm;
        } else {
            rest_ = before;
        }
        return true;
    }
    // Z, UTC, +01:00, GMT+0100 or PST, if present; then a name in parentheses, if present.
    bool zone() {
        std::string_view before = rest_;
        take_any_of(" ");
        if (!take_any_of("Zz") && !take("UTC") && !take("GMT")) rest_ = before;
        before = rest_;
        take_any_of(" ");
        if (const char sign = take_any_of("+-")) {
            int hours = 0, minutes = 0;
            if (!take_digits(2, 2, hours)) return false;
            if (take_any_of(":") ? !take_digits(2, 2, minutes) : digits_ahead() && !take_digits(2, 2, minutes))
                return false;
            if (hours > 15 || minutes > 59) return false;
            zone_ = (sign == '-' ? -1 : 1) * (hours * 60 + minutes);
        } else if (!named_zone()) {
            rest_ = before;
        }
        before = rest_;
        if (take(" (")) {
            std::size_t k = 0;
            while (k < rest_.size() && (is_letter(rest_[k]) || rest_[k] == ' ')) ++k;
            rest_.remove_prefix(k);
            if (!k || !take_any_of(")")) rest_ = before;
        }
        return true;
    }
    // The names of RFC 2822. Other names mean different zones in different countries.
    bool named_zone() {
        if (rest_.size() < 3 || rest_[2] != 'T' || (rest_[1] != 'S' && rest_[1] != 'D')) return false;
        const std::size_t place = std::string_view("ECMP").find(rest_[0]);
        if (place == std::string_view::npos) return false;
        zone_ = -60 * (5 + static_cast<int>(place) - (rest_[1] == 'D'));
        rest_.remove_prefix(3);
        return true;
    }

    // ------------------------------------------------------------------------------------------------ dates

    // /02/2020, with the same separator both times.
    bool number_and_year(int& number) { return separated_number(number) && any_year(); }
    // -02-13, with the same separator both times.
    bool numbers(int& first, int& second) { return separated_number(first) && take_digits(1, 2, second); }
    // -02-
    bool separated_number(int& number) {
        const char separator = take_any_of("-/.");
        return separator && take_digits(1, 2, number) && take_any_of({&separator, 1});
    }
    // Years of two digits have the meaning of POSIX: 69 to 99 are in the twentieth century.
    bool any_year() {
        if (digits_ahead() >= 4) return take_digits(4, 4, year_);
        if (!take_digits(2, 2, year_)) return false;
        year_ += year_ < 69 ? 2000 : 1900;
        return true;
    }
    void skip_ordinal() {
        for (const std::string_view ending : {"st", "nd", "rd", "th"})
            if (take(ending)) break;
        take_any_of(",");
    }
    void skip_day_of_week() {
        const std::string_view before = rest_;
        for (const std::string_view name : {"mon", "tue", "wed", "thu", "fri", "sat", "sun"}) {
            if (!take_ignoring_case(name)) continue;
            for (int k = 0; k < 6 && !rest_.empty() && is_letter(rest_.front()); ++k) rest_.remove_prefix(1);
            take_any_of(",");
            if (!take_any_of(" ")) rest_ = before;
            return;
        }
    }
    bool month_name() {
        static constexpr std::array<std::string_view, 12> names = {"january",   "february", "march",    "april",
                                                                   "may",       "june",     "july",     "august",
                                                                   "september", "october",  "november", "december"};
        for (std::size_t k = 0; k < names.size(); ++k) {
            if (!take_ignoring_case(names[k]) && !(k == 8 && take_ignoring_case("sept")) &&
                !take_ignoring_case(names[k].substr(0, 3)))
                continue;
            month_ = static_cast<int>(k) + 1;
            take_any_of(".");
            return true;
        }
        return false;
    }

    // ------------------------------------------------------------------------------------------------ characters

    int digits_ahead() const {
        std::size_t count = 0;
        while (count < rest_.size() && count < 20 && is_digit(rest_[count])) ++count;
        return static_cast<int>(count);
    }
    bool take_digits(int least, int most, int& value) {
        int count = 0;
        for (value = 0; count < most && !rest_.empty() && is_digit(rest_.front()); ++count) {
            value = value * 10 + (rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        return count >= least;
    }
    // Takes the next character if it is one of these; otherwise returns '\0'.
    char take_any_of(std::string_view characters) {
        if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return '\0';
        const char taken = rest_.front();
        rest_.remove_prefix(1);
        return taken;
    }
    bool take(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
    bool take_ignoring_case(std::string_view word) {
        if (!equals_ignoring_case(rest_.substr(0, word.size()), word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }
};

}  // namespace written

// The moment that the text describes, or nothing if it is not a date of this form.
inline std::optional<Moment> read_date(std::string_view text, DateForm form) {
    return written::DateReader(written::trimmed(text)).read(form);
}

}  // namespace unitless
