// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// over budget: Python's help() needs all that a method's caller must know before that method.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief What FragmentMatcher found for one fragment, on the host. Filled by FragmentMatcher::convert() and find(). */
struct CV_EXPORTS_W_SIMPLE FragmentMatch
{
    CV_WRAP FragmentMatch() : confidence(-1.f), status(0) {}

    //! top-left corner in the frame of each valid peak, best first (with THREE_STEP peak 1 may be better than peak 0)
    CV_PROP_RW std::vector<Point> locations;
    CV_PROP_RW std::vector<Point2f>
        refined; //!< the same with sub-pixel offset; equal to locations without Params::subpixel
    CV_PROP_RW std::vector<float> scores; //!< score of each valid peak
    CV_PROP_RW float confidence;          //!< see FragmentMatcher; -1 without an alternative
    CV_PROP_RW int status;                //!< FragmentMatcher::Status
};

/** @brief Exact search of many weighted fragments at once, each in its own area.

A fragment is a small picture (the template) with an optional weight for each pixel. match() looks at every position of
every fragment inside its search area and reports the best K positions that keep a distance from each other, their scores
and how far the best stands out. Nothing is approximated unless Params::search is THREE_STEP.

**Frame and templates**: CV_8UC1, CV_8UC3 or CV_8UC4 (the fourth channel is ignored), all of one type, each side up to
32,767 px. **Weights**: CV_8UC1 (q = 0..255) or CV_32FC1 in [0,1] (q = round-half-even(255 w)), of the template's size;
none means 255 everywhere. Unlike in cv::matchTemplate an 8-bit mask is not binarised.

**Score** at one position, with I the frame, T the template, W the sum of q, c the channel:
- SAD: S / W, S = sum q |I - T| over pixels and channels. 0 is a perfect match.
- SSD: S / W, S = sum q (I - T)^2.
- ZNCC: weighted Pearson correlation, sum_c n_c / (sqrt(sum_c v_c) sqrt(sum_c t_c)) with n_c = W S(qIT) - S(qI) S(qT),
  v_c = W S(qI^2) - S(qI)^2, t_c = W S(qT^2) - S(qT)^2. 1 is a perfect match. 0 where the frame or the fragment is flat.

All sums are exact integers, a score is made of them in double and rounded to float. So scores do not depend on the engine,
the order of summation or the number of threads.
SAD and SSD are compared by S, ZNCC by its float value. **Ties** go to the lowest raster index in the area.

**Peaks**: peak 0 is the best position; peak j is the best outside the exclusion zones of peaks 0..j-1. A position at
offset (dx, dy) from a peak is outside its zone when max(|dx|,|dy|) >= d (SQUARE) or min(|dx|,|dy|) >= d (CROSS).

**Confidence** compares peak 1 (the alternative) with peak 0: alternative/best for SAD and SSD, (1-alternative)/(1-best)
for ZNCC; larger is surer. Best perfect and alternative not: +inf; both perfect: 1; no alternative: -1.

**CUDA graphs**: calls whose outputs are GpuMat or HostMem may be captured, also the first of a size. A graph goes on with the
parameters, areas on the host and fragments that it was captured with, whatever is called afterwards, while the instance
lives. A replay reads anew: frame, areas and predictions on the device, and what is in the fragments, so that it sees
updateFragment(), until an edit changes the number of fragments, a size or presence of weights. Calls that wait are refused
while capturing: find(), convert(), outputs in Mat or std::vector. A dropped capture has changed nothing.

Determinism: bit-equal on both engines and from run to run, in every output. Threads: see the module page.
Errors: every method throws cv::Exception, on arguments outside the ranges above and when CUDA or memory fails, and leaves the
object as it was.

Source: Ladyzhensky and Sereda (fragment search with membership weights, best and alternative position on CUDA);
Y. Ma, X. Yuan, J. Li, 2014 (zero-mean normalised cross-correlation on CUDA). Cost model and figures: doc/fragment_matcher.md.
*/
class CV_EXPORTS_W FragmentMatcher : public Algorithm
{
public:
    enum Metric
    {
        SAD = 0, //!< weighted sum of absolute differences
        SSD = 1, //!< weighted sum of squared differences
        ZNCC = 2 //!< weighted zero-mean normalised cross-correlation; fragments of at most 53,824 pixels (232 x 232)
    };
    enum Exclusion
    {
        SQUARE = 0, //!< positions within a square around a peak are excluded
        CROSS = 1   //!< positions in the rows or columns around a peak are excluded
    };
    enum Search
    {
        FULL = 0, //!< every position
        THREE_STEP =
            1 //!< approximate best by a coarse-to-fine walk; the alternative (peaks >= 2) is still searched fully
    };
    enum Status
    {
        FOUND = 0,
        NO_POSITION = 1, //!< the fragment does not fit into its search area (location (-1,-1), score 0, confidence -1)
        FLAT_FRAGMENT = 2, //!< ZNCC of a fragment without contrast: every score is 0
        AREA_TOO_LARGE = 3 //!< an area given on the device exceeds Params::maxSearchArea; reported like NO_POSITION
    };

    struct CV_EXPORTS_W_SIMPLE Params
    {
        CV_WRAP Params();

        CV_PROP_RW int metric;            //!< Metric. Default SAD
        CV_PROP_RW int exclusion;         //!< Exclusion. Default SQUARE
        CV_PROP_RW int exclusionDistance; //!< d >= 1; 0 (default): half of the fragment's smaller side, at least 1
        CV_PROP_RW int peaks;             //!< K, 1..16. Default 2: best and alternative
        CV_PROP_RW bool subpixel;         //!< refine peaks from their direct neighbours. Default false
        CV_PROP_RW int search;            //!< Search. Default FULL
        //! Largest width and height of search areas that are given on the device, where the host cannot see them;
        //! bounds workspace and launches. Each side counts for itself. Default (0,0): the whole frame.
        CV_PROP_RW Size maxSearchArea;
    };

    // OpenCV's Python help() shows the comments of this form that stand before a method, and no others: not those of
    // classes, enums or members. So each method says all that its caller needs.

    /** @brief Makes a matcher without fragments: an exact search of many weighted fragments (templates) at once.
    @param params default: Params(), that is all defaults below. Members:
    metric: SAD (0, default) or SSD (1), weighted sum of absolute or squared differences over the sum of weights, 0 is
    perfect; ZNCC (2), weighted zero-mean normalised cross-correlation, 1 is perfect, fragments up to 53,824 pixels.
    exclusion: how far peaks keep apart: SQUARE (0, default), max(|dx|,|dy|) >= d; CROSS (1), min(|dx|,|dy|) >= d.
    exclusionDistance: d in pixels, 1..32767; default 0: half of the fragment's smaller side, rounded down, at least 1.
    peaks: K, 1..16; default 2: best position and alternative.
    subpixel: refine peaks from their direct neighbours; default False.
    search: FULL (0, default), every position; THREE_STEP (1), approximate best by a coarse-to-fine walk.
    maxSearchArea: (width, height) that no search area on the device exceeds; default (0, 0): the frame's. Each side
    counts for itself. Set it when areas are on the device: it bounds workspace and launches.
    @throws cv::Exception when a member of params is out of its range.
    */
    CV_WRAP static Ptr<FragmentMatcher> create(const FragmentMatcher::Params& params = FragmentMatcher::Params());

    /** @brief Replaces all parameters; fragments stay.
    @param params as in create(). ZNCC's limit on fragments is checked when a frame is searched.
    @throws cv::Exception when a member is out of its range; the old parameters stay.
    */
    CV_WRAP virtual void setParams(const FragmentMatcher::Params& params) = 0;
    /** @brief A copy of the parameters; for their meaning see create(). */
    CV_WRAP virtual FragmentMatcher::Params getParams() const = 0;

    /** @brief Replaces all fragments by one. In Python this is setFragments() of a picture, not a list.
    @param templ,weights,stream one of each, as in setFragments(). Default: no weights, the null stream.
    @throws cv::Exception as setFragments(). */
    CV_WRAP_AS(setFragments)
    void setFragment(InputArray templ, InputArray weights = noArray(), Stream& stream = cv::cuda::noStream())
    {
        setFragments(templ, weights, stream);
    }

    /** @brief Replaces all fragments. Those given as Mat serve both engines (they are uploaded by the first match() of
    a GpuMat); those given as GpuMat serve GpuMat frames only.
    @param templates list of 1 to 100,000 Mat or GpuMat, all CV_8UC1, CV_8UC3 or CV_8UC4 (fourth channel ignored); sides
    1..32767 may differ. Copied.
    @param weights default: none, each pixel counts 255; or one for each template, of its size and kind (an empty one:
    none): CV_8UC1, or CV_32FC1 in [0,1], which becomes 0..255. numpy's bool is refused: 255 * mask.astype(np.uint8).
    @param stream of GpuMat; the call does not wait. Default: the null stream. While it is being captured, contents are
    replaced at each replay, and number, sizes, type and presence of weights must stay. Weights in device memory cannot
    be checked by the host: NaN and values outside [0,1] are taken as 0, and a fragment whose weights sum to 0 gives
    NO_POSITION, and 0 all over in score maps.
    @throws cv::Exception when sizes or types do not fit, a host weight is NaN or outside [0,1], or the weights of a
    fragment on the host are all 0 as bytes.
    */
    CV_WRAP virtual void setFragments(InputArrayOfArrays templates, InputArrayOfArrays weights = noArray(),
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Replaces all fragments by regions of a frame, on the device when the frame is there. Does not wait.
    @param frame picture to cut from, of a type as in setFragments().
    @param regions Rect (x, y, width, height) inside the frame, one for each fragment, 1 to 100,000.
    @param weights,stream as in setFragments(). Default: none, the null stream.
    @throws cv::Exception as setFragments(), and when a region is empty or not inside the frame.
    */
    CV_WRAP virtual void cutFragments(InputArray frame, const std::vector<Rect>& regions,
                                      InputArrayOfArrays weights = noArray(),
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Appends one fragment of the type and kind of the present ones. A GpuMat cannot be captured.
    @param templ,weights,stream one of each, as in setFragments(). Default: no weights, the null stream.
    @return its index, from 0.
    */
    CV_WRAP virtual int addFragment(InputArray templ, InputArray weights = noArray(),
                                    Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Replaces one fragment; its size may change. The others are not touched.
    @param index fragment, 0 .. getFragmentCount()-1.
    @param templ,weights,stream as in addFragment(). Default: no weights, the null stream.
    */
    CV_WRAP virtual void updateFragment(int index, InputArray templ, InputArray weights = noArray(),
                                        Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Removes one fragment; later ones move down by one.
    @param index fragment, 0 .. getFragmentCount()-1. */
    CV_WRAP virtual void removeFragment(int index) = 0;
    /** @brief Removes all fragments; parameters and memory are kept. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;

    /** @brief Sets where THREE_STEP starts; FULL does not look at it. That N is the number of fragments is checked when
    a frame is searched.
    @param locations top-left corners in frame coordinates, clamped to the area: CV_32SC2, N rows (further columns are
    ignored, so that locations of match() can be given as they are), CV_32SC1, N x 2, a std::vector or, in Python, a list
    of (x, y); Mat or GpuMat as the frame. Mat and GpuMat are kept by reference until replaced, all else is copied.
    noArray() (None): position ((columns-1)/2, (rows-1)/2), rounded down, of the area.
    */
    CV_WRAP virtual void setPredictions(InputArray locations) = 0;

    /** @brief Finds all N fragments in a frame. Does not wait when all outputs are GpuMat or HostMem.
    @param frame picture to search, of the fragments' type. An empty one gives empty outputs and no error.
    @param searchAreas Rect for each fragment in frame coordinates, in which the whole fragment must lie; intersected
    with the frame. std::vector<Rect>, Mat of CV_32SC4 (N x 1 or 1 x N) or CV_32SC1 (N x 4: x, y, width, height), or,
    for a GpuMat frame, also such a GpuMat; noArray() (None): the whole frame. In Python integers of any width that fit 32
    bits, also a list of (x, y, width, height); for a GpuMat frame only GpuMat or None. An area of width or height 0
    has no position. Areas on the host are frozen into a captured graph, areas on the device are read anew.
    @param locations CV_32SC2, N x K: top-left corner in the frame of peak j of fragment i; (-1,-1): no such peak. Each
    output of one column may be a std::vector.
    @param scores CV_32FC1, N x K; 0 where there is no peak.
    @param confidence CV_32FC1, N x 1: alternative / best (ZNCC: (1-alternative) / (1-best)), 1 or more with FULL;
    larger is surer. +inf: only the best is perfect; -1: no alternative.
    @param status CV_8UC1, N x 1: FOUND (0); NO_POSITION (1), the fragment does not fit into its area (location (-1,-1),
    score 0, confidence -1); FLAT_FRAGMENT (2), ZNCC of a fragment without contrast that fits, every score is 0;
    AREA_TOO_LARGE (3), an area on the device exceeds maxSearchArea, reported like NO_POSITION.
    @param refined CV_32FC2, N x K: location plus the sub-pixel offset in [-0.5,0.5] (equiangular lines for SAD, a
    parabola for SSD and ZNCC, each axis from three scores; 0 at the border of the area); (-1,-1): no such peak. Without
    Params::subpixel: the location.
    @param stream of GpuMat frames. Default: the null stream.
    @throws cv::Exception without fragments, on another type, and when areas do not fit in number, type or kind.
    */
    CV_WRAP virtual void match(InputArray frame, InputArray searchAreas, OutputArray locations,
                               OutputArray scores = noArray(), OutputArray confidence = noArray(),
                               OutputArray status = noArray(), OutputArray refined = noArray(),
                               Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Turns outputs of match() into host structures; waits on the stream when they are GpuMat.
    @param locations CV_32SC2, N x K, or of one peak CV_32SC1, N x 2, or a std::vector.
    @param scores,confidence,status,refined of match(), or noArray() (None), for which 0, -1, FOUND, location stand.
    @param matches one for each fragment: locations, refined and scores of its valid peaks, confidence, status.
    @param stream of GpuMat. Default: the null stream.
    */
    CV_WRAP static void convert(InputArray locations, InputArray scores, InputArray confidence, InputArray status,
                                InputArray refined, CV_OUT std::vector<FragmentMatch>& matches,
                                Stream& stream = cv::cuda::noStream());

    /** @brief match() and convert() in one; waits on the stream for a GpuMat frame.
    @param frame,searchAreas as in match().
    @param matches as in convert().
    @param stream of a GpuMat frame. Default: the null stream.
    */
    CV_WRAP virtual void find(InputArray frame, InputArray searchAreas, CV_OUT std::vector<FragmentMatch>& matches,
                              Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Scores of every position of one fragment. Does not wait when map is a GpuMat or HostMem.
    @param index fragment, 0 .. getFragmentCount()-1.
    @param frame,searchArea as in match(), but Rect(), that is (0,0,0,0), is the whole frame.
    @param map (area height - fragment height + 1) rows, (area width - fragment width + 1) columns; empty without a
    position.
    @param depth CV_32F (default): the score. CV_32S: the integer S of SAD, for fragments of at most 11,008 pixels, or
    of SSD, at most 43 pixels. CV_64F: S exactly. ZNCC has CV_32F only.
    @param stream of a GpuMat frame. Default: the null stream.
    */
    CV_WRAP virtual void scoreMap(int index, InputArray frame, const Rect& searchArea, OutputArray map,
                                  int depth = CV_32F, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Scores of every position of all fragments in one 1 x M buffer, M below 2^31.
    @param frame as in match(). @param searchAreas on the host, as in match().
    @param buffer 1 x M of the depth; rows of a map follow each other without gaps. Empty without any position.
    @param offsets first element of fragment i's map is offsets[i]; offsets[N] = M, so that offsets[i] == offsets[i+1]
    when fragment i has no position.
    @param depth,stream as in scoreMap(). Default: CV_32F, the null stream.
    */
    CV_WRAP virtual void scoreMaps(InputArray frame, InputArray searchAreas, OutputArray buffer,
                                   CV_OUT std::vector<int>& offsets, int depth = CV_32F,
                                   Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Next frame's areas from this frame's locations, without leaving the device.
    @param locations as in setPredictions(), such as those of match(), of which column 0 is used. They may lie beyond the border;
    (-1,-1), and only that, gives an empty area, so the fragment stays NO_POSITION.
    @param radius pixels by which the fragment may move in each direction; at least 0.
    @param frameSize (width, height); areas are intersected with it.
    @param areas CV_32SC4, N x 1 or a std::vector; a GpuMat when locations is one, or any array on the host.
    @param stream of GpuMat. Default: the null stream.
    */
    CV_WRAP virtual void predictAreas(InputArray locations, int radius, Size frameSize, OutputArray areas,
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief A rotated and scaled copy of a fragment on the host, bilinear, for addFragment().
    @param templ,weights Mat, as in setFragments(); weights may be noArray() (None).
    @param angle degrees, counter-clockwise. @param scale factor, above 0.
    @param warped of the rotated box's size, rounded to whole pixels (not up), at most 32,767 a side.
    @param warpedWeights CV_8UC1; falls to 0 outside of the source.
    */
    CV_WRAP static void warpFragment(InputArray templ, InputArray weights, double angle, double scale,
                                     OutputArray warped, OutputArray warpedWeights);

    /** @brief Number of fragments. */
    CV_WRAP virtual int getFragmentCount() const = 0;
    /** @brief Size (width, height) of one fragment in pixels.
    @param index fragment, 0 .. getFragmentCount()-1. */
    CV_WRAP virtual Size getFragmentSize(int index) const = 0;
    /** @brief Device and pinned memory held by this instance, in bytes, fragments and what graphs refer to included.
    Not the memory of the CPU engine: between calls it keeps at most 128 MB, of all threads together, besides copies of
    the fragments, and gives back what a call needed beyond that. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    // Algorithm: parameters only, no fragments.
    /** @brief Name of the class in files: "FragmentMatcher". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Parameters that the node lacks get their defaults. @throws cv::Exception, and all parameters stay, when the node has none of
    them, as one that is missing or of another class, or one that is out of its range or not of its kind, such as a
    fraction for an integer. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
    /** @brief True without fragments. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP
