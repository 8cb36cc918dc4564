// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Options of a sample: a table says what there is; names, numbers and their ranges are checked before anything else
// happens.
// A program needs no more than this file.
#ifndef OPENCV_CUDATRACKING_SAMPLES_OPTIONS_HPP
#define OPENCV_CUDATRACKING_SAMPLES_OPTIONS_HPP

#include "opencv2/core.hpp"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sample {

//! The program was called wrongly.
class UsageError : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

//! A row of the table. Made by the functions below.
struct Option
{
    enum Kind
    {
        ARGUMENT,
        FLAG,
        TEXT,
        INTEGER,
        REAL,
        CHOICE
    };
    Kind kind;
    std::string name, value, help; //!< value: the default
    double least = 0., most = 0.;
    std::vector<std::string> choices = {};
    bool required = false, given = false;
};

//! Stands on the command line without a name.
inline Option argument(const std::string& name, const std::string& help, bool required = true)
{
    return {Option::ARGUMENT, name, "", help, 0., 0., {}, required};
}
inline Option flag(const std::string& name, const std::string& help) { return {Option::FLAG, name, "", help}; }
inline Option text(const std::string& name, const std::string& value, const std::string& help, bool required = false)
{
    return {Option::TEXT, name, value, help, 0., 0., {}, required};
}
inline Option integer(const std::string& name, int value, int least, int most, const std::string& help)
{
    return {Option::INTEGER, name, std::to_string(value), help, double(least), double(most)};
}
inline Option real(const std::string& name, double value, double least, double most, const std::string& help)
{
    return {Option::REAL, name, cv::format("%g", value), help, least, most};
}
inline Option choice(const std::string& name, const std::vector<std::string>& choices, const std::string& help)
{
    return {Option::CHOICE, name, choices[0], help, 0., 0., choices};
}

//! Reads whole numbers between which `separator` stands. @return false if there are other than `count`, or one is none
//! or does not fit int.
inline bool readIntegers(const std::string& text, char separator, size_t count, std::vector<int>& numbers)
{
    numbers.clear();
    const char* next = text.c_str();
    for (size_t i = 0; i < count; ++i)
    {
        char* end = nullptr;
        errno = 0;
        const long long value = std::strtoll(next, &end, 10);
        if (end == next || std::isspace(static_cast<unsigned char>(*next)) || errno || value < INT_MIN ||
            value > INT_MAX || *end != (i + 1 < count ? separator : 0))
            return false;
        numbers.push_back(static_cast<int>(value));
        next = end + 1;
    }
    return true;
}

class Options
{
public:
    //! @param about what the program does; @param examples lines of what follows the program's name; @param known
    //! without a name: left out.
    Options(const std::string& about, const std::vector<std::string>& examples, const std::vector<Option>& known)
        : about_(about), examples_(examples)
    {
        for (const Option& option : known)
            if (!option.name.empty())
                known_.push_back(option);
    }

    //! @return false when it has printed the help or the version, which was asked for. Throws a UsageError that names
    //! what is wrong.
    bool parse(int argc, char** argv)
    {
        const std::string path = argc > 0 ? argv[0] : "";
        program_ = path.substr(path.find_last_of("/\\") + 1);
        const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
        const auto end = std::find(words.begin(), words.end(), "--");
        for (auto word = words.begin(); word != end; ++word)
        {
            if (*word == "--help" || *word == "-h")
                printHelp(std::cout);
            else if (*word == "--version" || *word == "-V")
                std::cout << program_ << " " CUDATRACKING_VERSION ", OpenCV " << cv::getVersionString() << std::endl;
            else
                continue;
            return false;
        }
        for (size_t i = 0; i < words.size(); ++i)
        {
            const bool rest = end < words.begin() + static_cast<std::ptrdiff_t>(i);
            if (!rest && words[i] == "--")
                continue;
            if (!rest && words[i].size() > 1 && words[i][0] == '-')
                i = takeOption(words, i);
            else
                takeArgument(words[i]);
        }
        for (const Option& option : known_)
            if (option.required && !option.given)
                throw UsageError(shown(option) + " is missing: " + option.help);
        return true;
    }

    bool given(const std::string& name) const { return at(name).given; }
    bool flag(const std::string& name) const { return at(name).given; }
    std::string text(const std::string& name) const { return at(name).value; }
    int integer(const std::string& name) const { return std::atoi(at(name).value.c_str()); }
    double real(const std::string& name) const { return std::strtod(at(name).value.c_str(), nullptr); }

    //! Parts between separators; none of an empty text.
    std::vector<std::string> list(const std::string& name, char separator) const
    {
        const std::string all = text(name);
        std::vector<std::string> parts;
        for (size_t begin = 0; begin < all.size();)
        {
            const size_t end = std::min(all.find(separator, begin), all.size());
            if (end == begin || end + 1 == all.size())
                throw UsageError(shown(at(name)) + " " + all + ": a part of the list is empty");
            parts.push_back(all.substr(begin, end - begin));
            begin = end + 1;
        }
        return parts;
    }

    //! One line.
    std::string usage() const
    {
        std::string line = "usage: " + program_;
        for (const Option& option : known_)
            if (option.kind != Option::ARGUMENT && option.required)
                line += ' ' + shown(option) + "=...";
        line += " [options]";
        for (const Option& option : known_)
            if (option.kind == Option::ARGUMENT)
                line += ' ' + (option.required ? shown(option) : "[" + shown(option) + "]");
        return line;
    }
    void printHelp(std::ostream& out) const
    {
        out << about_ << "\n\n" << usage() << "\n\n";
        for (const Option& option : known_)
        {
            std::string head = shown(option);
            if (option.kind != Option::ARGUMENT && option.kind != Option::FLAG)
                head += "=" + (option.value.empty() ? std::string("...") : option.value);
            out << "  " << head << std::string(head.size() < 28 ? 28 - head.size() : 1, ' ') << option.help << "\n";
        }
        out << "  --help                      print this\n  --version                   print the "
               "version\n\nexamples:\n";
        for (const std::string& example : examples_)
            out << "  " << program_ << ' ' << example << "\n";
        out << std::flush;
    }
    const std::string& program() const { return program_; }

private:
    static std::string shown(const Option& option)
    {
        std::string upper = option.name;
        for (char& c : upper)
            c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        return option.kind == Option::ARGUMENT ? upper : "--" + option.name;
    }
    const Option& at(const std::string& name) const
    {
        for (const Option& option : known_)
            if (option.name == name)
                return option;
        throw std::logic_error("the program asks for an option that its table lacks: " + name);
    }

    //! @return the index of the last word that belongs to the option.
    size_t takeOption(const std::vector<std::string>& words, size_t i)
    {
        const size_t equals = words[i].find('=');
        const std::string name = words[i].substr(0, equals);
        const auto option =
            std::find_if(known_.begin(), known_.end(),
                         [&](const Option& o) { return o.kind != Option::ARGUMENT && "--" + o.name == name; });
        if (option == known_.end())
            throw UsageError("unknown option '" + name + "'");
        if (option->given)
            throw UsageError(name + " is given twice");
        option->given = true;
        if (option->kind == Option::FLAG)
        {
            if (equals != std::string::npos)
                throw UsageError("'" + words[i] + "': " + name + " takes no value");
            return i;
        }
        if (equals == std::string::npos && (++i == words.size() || words[i].compare(0, 2, "--") == 0))
            throw UsageError(name + " needs a value: " + name + "=...");
        option->value = equals == std::string::npos ? words[i] : words[i].substr(equals + 1);
        check(*option);
        return i;
    }
    void takeArgument(const std::string& word)
    {
        const auto next = std::find_if(known_.begin(), known_.end(),
                                       [](const Option& o) { return o.kind == Option::ARGUMENT && !o.given; });
        if (next == known_.end())
            throw UsageError("superfluous argument '" + word + "'");
        if (word.empty())
            throw UsageError(shown(*next) + " is empty");
        next->value = word;
        next->given = true;
    }

    static void check(const Option& option)
    {
        const std::string start = "--" + option.name + "=" + option.value + ": ";
        const char* const begin = option.value.c_str();
        char* end = nullptr;
        errno = 0;
        if (option.kind == Option::INTEGER)
        {
            const long long value = std::strtoll(begin, &end, 10);
            if (!isWhole(begin, end) || errno || double(value) < option.least || double(value) > option.most)
                throw UsageError(start +
                                 cv::format("a whole number from %.0f to %.0f is needed", option.least, option.most));
        }
        else if (option.kind == Option::REAL)
        {
            const double value = std::strtod(begin, &end);
            if (!isWhole(begin, end) || !(value >= option.least && value <= option.most))
                throw UsageError(start + cv::format("a number from %g to %g is needed", option.least, option.most));
        }
        else if (option.kind == Option::CHOICE &&
                 std::find(option.choices.begin(), option.choices.end(), option.value) == option.choices.end())
        {
            std::string all;
            for (const std::string& one : option.choices)
                all += (all.empty() ? "" : &one == &option.choices.back() ? " or " : ", ") + one;
            throw UsageError(start + all + " is needed");
        }
        else if (option.required && option.value.empty())
            throw UsageError(start + "a value is needed: " + option.help);
    }
    //! The number is all there is.
    static bool isWhole(const char* begin, const char* end)
    {
        return end != begin && *end == 0 && !std::isspace(static_cast<unsigned char>(*begin));
    }

    std::string about_, program_;
    std::vector<std::string> examples_;
    std::vector<Option> known_;
};

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_OPTIONS_HPP
