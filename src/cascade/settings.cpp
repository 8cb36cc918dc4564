// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "../common/file_nodes.hpp"
#include "settings.hpp"
#include <cmath>

namespace cv { namespace cuda { namespace cascade {

using detail::Item;

namespace {

struct SetDefault
{
    template <typename T, typename... R> void operator()(const char*, T& value, const T& otherwise, const R&...) const
    {
        value = otherwise;
    }
};

struct Check
{
    template <typename T> void operator()(const char*, const T&, const T&) const {}
    void operator()(const char* name, double value, double, const ValueRange<double>& range) const
    {
        if (!(value > range.above && value <= range.most))
            CV_Error_(Error::StsOutOfRange,
                      ("CascadeClassifierEx: %s must be finite and above %g, this is %.17g", name, range.above, value));
    }
    void operator()(const char* name, int value, int, const ValueRange<int>& range) const
    {
        if (value <= range.above || value > range.most)
            CV_Error_(Error::StsOutOfRange, ("CascadeClassifierEx: %s must be %d to %d, this is %d", name,
                                             range.above + 1, range.most, value));
    }
};

void take(const Item& item, double& value) { value = item.real(); }
void take(const Item& item, int& value) { value = item.integer(INT_MIN, INT_MAX); }
void take(const Item& item, bool& value) { value = item.integer(0, 1) != 0; }
void take(const Item& item, SizeLimit& value)
{
    item.list(2, 2);
    item.each([&](const Item& side, int i) { take(side, i == 0 ? value.width : value.height); });
}

struct Read
{
    const Item& map;

    template <typename T, typename... R>
    void operator()(const char* name, T& value, const T& otherwise, const R&... range) const
    {
        if (!map.has(name))
            return;
        map.with(name, [&](const Item& item) { take(item, value); });
        Check()(name, value, otherwise, range...);
    }
};

struct Write
{
    FileStorage& storage;

    template <typename T, typename... R> void operator()(const char* name, const T& value, const T&, const R&...) const
    {
        storage << name << value;
    }
    void operator()(const char* name, bool value, bool) const { storage << name << static_cast<int>(value); }
    void operator()(const char* name, const SizeLimit& value, const SizeLimit&) const
    {
        storage << name << Size(value.width, value.height);
    }
};

} // namespace

Settings::Settings() { eachSetting(*this, SetDefault()); }

void checkSettings(const Settings& settings) { eachSetting(settings, Check()); }

void readSettings(const Item& map, Settings& settings) { eachSetting(settings, Read{map}); }

void writeSettings(FileStorage& storage, const Settings& settings) { eachSetting(settings, Write{storage}); }

}}} // namespace cv::cuda::cascade
