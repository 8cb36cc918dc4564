// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Settings of QuickShift: those of the user, each stated once with name, member, default and range, and what the stages
// make of them.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_SETTINGS_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_SETTINGS_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/quick_shift.hpp"
#include "core.hpp"
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace cv { namespace cuda { namespace quick_shift {

// --- the user's ------------------------------------------------------------------------------------------------------

//! Settings as the user sets them, with their defaults.
struct UserSettings
{
    double sigma = 6., maxDist = 10.;
    //! FEW_CHANNELS to MAX_CHANNELS factors. Equal ones hold for all channels; FEW_CHANNELS may all be BY_TYPE.
    std::vector<double> channelScales = std::vector<double>(FEW_CHANNELS, QuickShift::BY_TYPE);
    int searchRadius = QuickShift::SEARCH_MAX_DIST, tieRule = QuickShift::INDEX;
    bool normalizeDensity = false;
};

// Ranges. Each throws cv::Exception with the argument's name, its value and the allowed range.
void checkSigma(double sigma);
void checkMaxDist(double maxDist);
//! @param name name of the argument: colorScale or scales[k].
void checkScale(const std::string& name, double scale);
//! Checks the number of scales, too.
void checkScales(std::vector<double> scales);
void checkSearchRadius(int radius);
void checkTieRule(int rule);
inline void checkNormalizeDensity(bool) {}

//! A setting: its name in files, its member and the check of its range.
template <typename T> struct Setting
{
    const char* name;
    T UserSettings::*member;
    void (*check)(T);
};
constexpr Setting<double> SIGMA = {"sigma", &UserSettings::sigma, checkSigma};
constexpr Setting<double> MAX_DIST = {"maxDist", &UserSettings::maxDist, checkMaxDist};
constexpr Setting<std::vector<double>> CHANNEL_SCALES = {"channelScales", &UserSettings::channelScales, checkScales};
constexpr Setting<int> SEARCH_RADIUS = {"searchRadius", &UserSettings::searchRadius, checkSearchRadius};
constexpr Setting<int> TIE_RULE = {"tieRule", &UserSettings::tieRule, checkTieRule};
constexpr Setting<bool> NORMALIZE_DENSITY = {"normalizeDensity", &UserSettings::normalizeDensity,
                                             checkNormalizeDensity};

//! Calls visit(setting...) with all settings in the order of files; reading and writing are made of this.
template <typename Visit> auto withSettings(const Visit& visit)
{
    return visit(SIGMA, MAX_DIST, CHANNEL_SCALES, SEARCH_RADIUS, TIE_RULE, NORMALIZE_DENSITY);
}

// --- the stages' -----------------------------------------------------------------------------------------------------

//! Returns the radius of the density window.
int windowRadius(double sigma);
//! Returns how far parents are searched. @param setting UserSettings::searchRadius. @param window windowRadius().
int searchRadius(int setting, double maxDist, int window);

/** Spatial factors exp(-(dx^2+dy^2)/(2 sigma^2)), computed once per sigma and used by both backends. They come from the
host's exp(), whose last bit differs between libraries; rounded to float it nearly always does not. So the backends of
one process give the same bits, and so do machines with the same C library. */
struct Spatial
{
    explicit Spatial(double sigma);
    //! Returns the bits of sigma: equal versions have equal factors.
    uint64_t version() const;

    double sigma;
    int radius;
    std::vector<float> rows; //!< (R+1) x (2R+1): dy = 0..R, dx = -R..R
};

//! Settings of the user as the stages need them.
struct Settings
{
    Parameters parameters;
    Scales scales;
    std::shared_ptr<const Spatial> spatial;
    double maxDist;
    int type; //!< of the images
};

//! Returns true if both give the same results. Settings without `spatial` equal none.
bool operator==(const Settings& a, const Settings& b);

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_SETTINGS_HPP
