// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Parameters of TLD as text, for tables of tests.
#ifndef OPENCV_CUDATRACKING_TEST_TLD_PARAMS_HPP
#define OPENCV_CUDATRACKING_TEST_TLD_PARAMS_HPP

#include "../test_precomp.hpp"
#include "../../src/tld/settings.hpp"
#include <sstream>

namespace opencv_test { namespace tld {

using cuda::TLDParams;

//! Returns parameters with some changed, as in "trees 7, mirror 1". @tparam Params as in eachParameter()
template <typename Params> Params changed(Params others, const std::string& text)
{
    std::istringstream list(text);
    for (std::string entry, name, value; std::getline(list, entry, ',');)
    {
        bool known = false;
        const bool complete = static_cast<bool>(std::istringstream(entry) >> name >> value);
        const auto set = [&](const char* parameter, auto& member, auto, auto, auto)
        {
            if (name != parameter)
                return;
            known = true;
            member = static_cast<std::decay_t<decltype(member)>>(std::stod(value));
        };
        cuda::tld::eachParameter(others, set);
        if (!complete || !known)
            CV_Error_(Error::StsBadArg, ("no parameter and its value: %s", entry.c_str()));
    }
    return others;
}

inline TLDParams paramsOf(const std::string& text, const TLDParams& others = TLDParams())
{
    return changed(others, text);
}

}} // namespace opencv_test::tld

#endif // OPENCV_CUDATRACKING_TEST_TLD_PARAMS_HPP
