// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Matches of one fragment, on the host. FragmentMatcher::find() and FragmentMatcher::convert() fill it. */
struct CV_EXPORTS_W_SIMPLE FragmentMatch
{
    CV_WRAP FragmentMatch() : confidence(-1.f), status(0) {}

    /** Top-left corner of the fragment at each position found (peak), pixels of the frame; the best one first. Empty if
    there is none. With the approximate search THREE_STEP a later one may have a better score than the first. */
    CV_PROP_RW std::vector<Point> locations;
    /** Locations with sub-pixel precision, one for each peak; equal to `locations` if Params::subpixel is false. */
    CV_PROP_RW std::vector<Point2f> refined;
    CV_PROP_RW std::vector<float> scores; //!< score of each peak: 0 is perfect for SAD and SSD, 1 for ZNCC
    /** Ratio that tells how distinct the first peak is from the second one, see FragmentMatcher; larger is more
    distinct. -1 if there is no second peak. */
    CV_PROP_RW float confidence;
    CV_PROP_RW int status; //!< FragmentMatcher::Status
};

/** @brief Exact template matching of many weighted templates at once, each in its own search area.

A *fragment* is a template: a small image with an optional weight for each pixel. Give the instance its fragments by
setFragments() or cutFragments(), then call find() or match() for each frame. They report for each fragment the best
Params::peaks positions (*peaks*), which keep a distance from each other, their scores, and a confidence that tells how
far the best one stands out. find() returns structures on the host; match() fills arrays, on the device if you like.

@code
// Finds patches of a frame in the next one, at most 20 pixels from where they were.
void follow(const cv::Mat& frame, const cv::Mat& next, const std::vector<cv::Rect>& patches)
{
    const cv::Ptr<cv::cuda::FragmentMatcher> matcher = cv::cuda::FragmentMatcher::create();
    matcher->cutFragments(frame, patches);
    std::vector<cv::Rect> areas;
    for (const cv::Rect& patch : patches)
        areas.push_back(cv::Rect(patch.x - 20, patch.y - 20, patch.width + 40, patch.height + 40));
    std::vector<cv::cuda::FragmentMatch> matches;
    matcher->find(next, areas, matches); // a GpuMat as frame: on the CUDA device
    for (const cv::cuda::FragmentMatch& match : matches)
        if (match.status == cv::cuda::FragmentMatcher::FOUND && match.confidence > 1.5f)
            std::cout << match.locations[0] << ", score " << match.scores[0] << std::endl;
}
@endcode

__Images__: frames and templates are CV_8U or CV_16U with 1, 3 or 4 channels (the fourth is ignored), all of one type,
with sides of 1 to 32,767 pixels. Fragments have at most 16,843,523 pixels times channels (gray: 4,104 x 4,104; three
channels: 2,369 x 2,369), so that sums of 16 bits fit 64 bits. A frame and each of its templates may be regions of
interest.

__16 bits__: SSD and ZNCC take CV_16U, for images of 10 to 16 bits; SAD does not. Largest scores of SSD: 65,535^2 per channel. Map floating-point images to 16 bits first:
`image.convertTo(words, CV_16U, 65535 / (high - low), -low * 65535 / (high - low))`, with the same low and high for
fragments and frames.

__Weights__ q tell how much each pixel of a template counts: CV_8UC1 with q = 0 to 255, or CV_32FC1 with values w in
[0,1], for which q is 255 w, rounded to the nearest integer (half to even). They have the size of the template. Without
weights all q are 255. Unlike in cv::matchTemplate(), an 8-bit mask is not binarised.

__Scores__ compare a template T with the part of the frame I under it:

| metric | score at a position                                                                              | perfect |
|--------|--------------------------------------------------------------------------------------------------|--------:|
| SAD    | sum of q abs(I - T) over pixels and channels, divided by the sum of q over pixels; 0 to 765       | 0       |
| SSD    | sum of q (I - T)^2 over pixels and channels, divided by the sum of q over pixels; 0 to 195,075    | 0       |
| ZNCC   | weighted correlation coefficient of T and I; -1 to 1; 0 if one of them is constant                | 1       |

Sums of SAD and SSD are not divided by the number of channels: with one channel the largest scores are 255 and 65,025.
ZNCC ignores changes of brightness and contrast. All sums are exact integers, and of equal scores the one at the
lowest row-major index in the area wins, so results depend neither on the backend nor on the number of threads.

__Search__: by default every position in the search area counts. Where positions are left out to save time, because they
cannot be a peak, the results are the same. Only Params::search = THREE_STEP is approximate.

__Peaks__: peak 0 is the best position. Each further peak is the best position that keeps the distance d =
Params::exclusionDistance from all peaks before it, as Params::exclusion says.

__Confidence__ is the ratio of the scores of peak 1 and peak 0, for ZNCC that of (1 - score): the larger, the more
distinct. It is 1 if both are equally good, +infinity if only peak 0 is perfect, and -1 if there is no peak 1, which is
always so with Params::peaks = 1. Except for -1 it is at least 1; with THREE_STEP it may be less. It is a ratio of
squares for SSD, so a threshold for SAD does not suit SSD.

__Waiting, lifetimes, threads__: see the tables in cudatracking.hpp. Threads that use one instance share its fragments
and parameters; their calls are executed one after another.

__CUDA graphs__: fragments given as Mat are uploaded by the first match() with a GpuMat, which must not be captured. A
graph keeps the parameters, the search areas on the host and the set of fragments of its capture. Each replay reads
again the frame, and search areas and predictions in device memory. What edits of fragments do:
- Calls of updateFragment(), setFragments() or cutFragments() that keep number, sizes and type of the fragments, and
  which ones have weights: replays use the new contents; of those given as Mat only after the next match() outside of
  a capture.
- Other edits: capture again. The graph keeps its old set of fragments, and which of their contents it sees after
  further edits is undefined.

A capture that fails or is abandoned changes nothing.

Definitions in full (formulas, ties, sub-pixel positions, THREE_STEP), cost and limits: doc/fragment_matcher.md.
Source: Yu. V. Ladyzhensky, A. O. Sereda, Search of image fragments by template for tracking objects in video on the
parallel architecture CUDA (in Ukrainian), Shtuchnyi intelekt 2010, no. 4 (weighted fragments, best and second position,
three-step search); Y. Ma, X. Yuan, J. Li, 2014, zero-mean normalised cross-correlation for template matching on CUDA.
*/
class CV_EXPORTS_W FragmentMatcher : public Algorithm
{
public:
    //! Measure by which positions are compared; the class comment has the formulas.
    enum Metric
    {
        SAD = 0, //!< weighted sum of absolute differences
        SSD = 1, //!< weighted sum of squared differences
        //! weighted zero-mean normalised cross-correlation; 8 bits: slower above 53,824 pixels (232 x 232)
        ZNCC = 2
    };
    //! Distance rule for peaks, for the offset (dx, dy) between any two of them; d is Params::exclusionDistance.
    enum Exclusion
    {
        SQUARE = 0, //!< max(|dx|, |dy|) >= d: no peak in the square of 2d-1 x 2d-1 positions around another
        CROSS = 1   //!< min(|dx|, |dy|) >= d: no peak in the 2d-1 rows or in the 2d-1 columns around another
    };
    //! Search method for peak 0.
    enum Search
    {
        FULL = 0, //!< exhaustive search
        /** Approximate search: evaluates nine points around the start, moves to the best one, halves the distance of
        the points, and so on. It starts at the centre of the area or at setPredictions(), and finds the best position
        only if scores improve towards it from far away. Further peaks are searched exhaustively, so it saves time only
        if Params::peaks is 1. */
        THREE_STEP = 1
    };
    //! Curve through the scores of a peak and of its two neighbours along an axis; its extremum is the sub-pixel
    //! position.
    enum SubpixelFit
    {
        //! A parabola; for SAD, whose scores rise linearly, two lines of equal and opposite slope.
        PARABOLA = 0,
        /** A Gaussian, for ZNCC alone. In images of particles that move along one axis it has a bias of .001 px where
        a parabola has .03 px; other motion: doc/windows.md. Along an axis where one of the three scores is not
        positive it is a parabola. */
        GAUSSIAN = 1
    };
    //! Outcome of the search for a fragment.
    enum Status
    {
        FOUND = 0,         //!< there is at least one peak
        NO_POSITION = 1,   //!< no peak: it does not fit into its area, or its weights in device memory are all 0
        FLAT_FRAGMENT = 2, //!< ZNCC only: the fragment is constant, so all its scores are 0
        AREA_TOO_LARGE = 3 //!< no peak: its area in device memory, clipped, is larger than Params::maxSearchArea
    };

    //! Parameters of a matcher. create() and setParams() check their ranges.
    struct CV_EXPORTS_W_SIMPLE Params
    {
        CV_WRAP Params();

        CV_PROP_RW int metric;            //!< Metric. Default SAD
        CV_PROP_RW int exclusion;         //!< Exclusion. Default SQUARE
        CV_PROP_RW int exclusionDistance; //!< d, pixels, 1..32767; 0: half of the smaller side, at least 1. Default 0
        CV_PROP_RW int peaks;             //!< number of peaks, 1..16. Default 2: best and second best
        CV_PROP_RW bool subpixel;         //!< whether `refined` has sub-pixel precision. Default false
        CV_PROP_RW int subpixelFit;       //!< SubpixelFit. Default PARABOLA; GAUSSIAN needs ZNCC
        CV_PROP_RW int search;            //!< Search. Default FULL
        /** Largest width and height of search areas that are in device memory, pixels; it bounds the memory and time of
        a call, which cannot see these areas. Areas are clipped to the frame before they are compared with it. Width and
        height are checked independently. Default (0,0). If a side is 0, match() takes in device memory only the areas
        that the last predictAreas() of the instance wrote; this side is then that of its largest area. */
        CV_PROP_RW Size maxSearchArea;
    };

    /** @brief Creates a matcher without fragments, for exact template matching of many weighted templates at once.

    A fragment is a template: a small image with an optional weight for each pixel. setFragments() or cutFragments()
    sets them; find() and match() then locate all of them in a frame, each in its own search area. They return for each
    fragment its best positions (peaks), the best one first, their scores, and a confidence: how distinct the best
    position is from the second best. Frames and templates are uint8 or uint16 arrays of 1, 3 or 4 channels (the fourth
    is ignored), all of one type; on the CPU as numpy arrays, on the device as cv2.cuda.GpuMat. Both give the same bits.
    @code{.py}
    >>> frame = np.random.default_rng(1).integers(0, 256, (240, 320), np.uint8)
    >>> later = np.roll(frame, (3, 5), axis=(0, 1))
    >>> matcher = cv2.cuda.FragmentMatcher.create()
    >>> matcher.cutFragments(frame, [(40, 30, 16, 16), (200, 100, 24, 24)])
    >>> matches = matcher.find(later, [(20, 10, 56, 56), (180, 80, 64, 64)])
    >>> [match.locations[0].tolist() for match in matches], [float(match.scores[0]) for match in matches]
    ([[45, 33], [205, 103]], [0.0, 0.0])
    @endcode
    Calls of several threads on one instance are executed one after another.
    @param params parameters. Default: Params(), that is the defaults of all members below.
    metric: SAD (0, default), of uint8 alone, or SSD (1): weighted sum of absolute or squared differences divided by the
    sum of weights, 0 is perfect; ZNCC (2): weighted zero-mean normalised cross-correlation, 1 is perfect. Fragments have at
    most 16,843,523 pixels times channels.
    exclusion: rule for the offset (dx, dy) between two peaks: SQUARE (0, default), max(|dx|, |dy|) >= d; CROSS (1),
    min(|dx|, |dy|) >= d.
    exclusionDistance: d in pixels, 1 to 32767; default 0, which means half of the smaller side of the fragment,
    rounded down, at least 1.
    peaks: number of peaks, 1 to 16; default 2, the best and the second best.
    subpixel: whether positions are refined from the scores of their direct neighbours; default False.
    subpixelFit: PARABOLA (0, default), for SAD two lines; GAUSSIAN (1), for ZNCC alone: less bias in images of
    particles.
    search: FULL (0, default), exhaustive; THREE_STEP (1), approximate three-step search for the best position.
    maxSearchArea: largest (width, height) of search areas in device memory after they are clipped to the frame;
    default (0, 0). Both sides are checked independently; they bound the memory and time of a call. If a side is 0,
    match() takes in device memory only the areas that the last predictAreas() of the object wrote; this side is then
    that of its largest area, the largest fragment + 2 radius.
    @throws cv::Exception if a member of params is out of its range, or if subpixelFit is GAUSSIAN and metric is not
    ZNCC. */
    CV_WRAP static Ptr<FragmentMatcher> create(const FragmentMatcher::Params& params = FragmentMatcher::Params());

    /** @brief Replaces all parameters; the fragments are kept.
    @param params parameters; create() explains the members. SAD with fragments of 16 bits is refused by the next
    match(), not by this call.
    @throws cv::Exception if a member is out of its range, or if subpixelFit is GAUSSIAN and metric is not ZNCC; no
    parameter changes then. */
    CV_WRAP virtual void setParams(const FragmentMatcher::Params& params) = 0;
    /** @brief Returns a copy of the parameters; create() explains them. */
    CV_WRAP virtual FragmentMatcher::Params getParams() const = 0;

    /** @brief setFragments() for a single template instead of a list. In Python: setFragments().
    @param templ template: CV_8U or CV_16U with 1, 3 or 4 channels, sides 1 to 32,767 pixels, Mat or GpuMat. It is
    copied.
    @param weights weights of its size, in the same memory: CV_8UC1, or CV_32FC1 with values in [0,1]. Default: none,
    which equals a weight of 255 for every pixel.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if sizes or types do not fit, or if host weights are out of [0,1] or all 0. The old fragments
    are kept then. */
    CV_WRAP_AS(setFragments)
    void setFragment(InputArray templ, InputArray weights = noArray(), Stream& stream = cv::cuda::noStream())
    {
        setFragments(templ, weights, stream);
    }

    /** @brief Replaces all fragments. The call copies them and does not wait. Templates given as Mat can be matched
    against Mat and GpuMat frames (the first match() with a GpuMat uploads them); templates given as GpuMat only against
    GpuMat frames.
    @param templates list of 1 to 100,000 Mat or GpuMat, all of one type, CV_8U or CV_16U with 1, 3 or 4 channels (the
    fourth is ignored). Sides are 1 to 32,767 pixels and may differ; pixels times channels are at most 16,843,523.
    Fragments of 16 bits, and ZNCC of more than 53,824 pixels, are refused by match() on the device if the largest width
    of all times the largest height is above 100 million. One array in place of the list is one fragment; then weights is one array, too.
    @param weights list with one array for each template, of its size and in the same memory (host or device): CV_8UC1,
    or CV_32FC1 with values in [0,1], which become 0 to 255. An empty array means no weights for that template. numpy's
    bool is refused: use 255 * mask.astype(np.uint8). Default: no weights, which equals a weight of 255 for every pixel.
    @param stream stream for GpuMat templates; ignored for Mat. Default: the null stream. On a capturing stream each
    replay copies the pixels of the given arrays again. Then number, sizes and type must be those of the current
    fragments, and the same fragments must have weights. The host cannot check weights in device memory: NaN and values
    outside of [0,1] are read as 0; a fragment whose weights are all 0 gets status NO_POSITION, and its score maps are
    0.
    @throws cv::Exception if sizes or types do not fit, if a host weight is NaN or outside of [0,1], or if all host
    weights of a fragment are 0 after conversion to 8 bit. The old fragments are kept then. */
    CV_WRAP virtual void setFragments(InputArrayOfArrays templates, InputArrayOfArrays weights = noArray(),
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Replaces all fragments by copies of regions of a frame. Does not wait. With a GpuMat frame they are cut
    on the device.
    @param frame image to cut from, Mat or GpuMat: CV_8U or CV_16U with 1, 3 or 4 channels, sides 1 to 32,767 pixels.
    @param regions rectangles (x, y, width, height) inside of the frame, one for each fragment, 1 to 100,000.
    @param weights list with one array for each region, of its size and in the frame's memory (host or device): CV_8UC1,
    or CV_32FC1 with values in [0,1]. Default: no weights, which equals a weight of 255 for every pixel.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. On a capturing stream each replay cuts
    again; number, sizes and type must be those of the current fragments, and the same fragments must have weights.
    @throws cv::Exception if a region is empty or not inside of the frame, if sizes or types do not fit, or if host
    weights are out of [0,1] or all 0. The old fragments are kept then. */
    CV_WRAP virtual void cutFragments(InputArray frame, const std::vector<Rect>& regions,
                                      InputArrayOfArrays weights = noArray(),
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Appends one fragment; the first one, if there are none. Does not wait. A call with a GpuMat throws while
    its stream is being captured.
    @param templ template, one array; its element type and memory (Mat or GpuMat) must be those of the existing
    fragments, if there are any. Sides 1 to 32,767 pixels.
    @param weights weights of its size, in the same memory: CV_8UC1, or CV_32FC1 with values in [0,1]. Default: none,
    which equals a weight of 255 for every pixel.
    @param stream stream for a GpuMat template; ignored for Mat. Default: the null stream.
    @return index of the fragment, from 0.
    @throws cv::Exception if sizes, types or memory do not fit, if host weights are out of [0,1] or all 0, or if there
    are 100,000 fragments already. Nothing is added then. */
    CV_WRAP virtual int addFragment(InputArray templ, InputArray weights = noArray(),
                                    Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Replaces one fragment; its size may change. The other fragments are not copied again. Does not wait.
    @param index index of the fragment, 0 to getFragmentCount()-1.
    @param templ template, one array; its element type and memory (Mat or GpuMat) must be those of the other fragments.
    @param weights weights of its size, in the same memory: CV_8UC1, or CV_32FC1 with values in [0,1]. Default: none,
    which equals a weight of 255 for every pixel.
    @param stream stream for a GpuMat template; ignored for Mat. Default: the null stream. On a capturing stream the
    size must be that of the current fragment, and weights must be given if and only if it has weights.
    @throws cv::Exception if index is out of its range, if sizes, types or memory do not fit, or if host weights are out
    of [0,1] or all 0. The fragment is kept then. */
    CV_WRAP virtual void updateFragment(int index, InputArray templ, InputArray weights = noArray(),
                                        Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Removes one fragment; the indices of later ones decrease by one.
    @param index index of the fragment, 0 to getFragmentCount()-1.
    @throws cv::Exception if index is out of its range. */
    CV_WRAP virtual void removeFragment(int index) = 0;
    /** @brief Removes all fragments; parameters and memory are kept. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;

    /** @brief Sets the positions at which THREE_STEP starts. FULL ignores them.
    @param locations one top-left corner for each fragment in frame coordinates: CV_32SC2 with N rows, of which column 0
    is used (so the locations of match() can be passed), CV_32SC1 of N x 2, a std::vector or, in Python, a list of
    (x, y). Each is moved to the nearest position of the fragment in its area; this holds for (-1,-1), too. Mat and
    GpuMat are kept by reference until they are replaced, all else is copied. match() and find() use them only with
    THREE_STEP, and check then that N is the number of fragments, and that they are a GpuMat for a GpuMat frame and not
    for a Mat frame. noArray() (None) or an empty array: THREE_STEP starts at the centre of the positions,
    ((columns-1)/2, (rows-1)/2) rounded down.
    @throws cv::Exception if the type is none of these. */
    CV_WRAP virtual void setPredictions(InputArray locations) = 0;

    /** @brief Finds all N fragments in a frame, and writes K = Params::peaks positions for each. Waits only if the
    frame is a GpuMat and an output is a Mat, UMat or std::vector.
    @param frame image to search, Mat or GpuMat of the fragments' type. An empty one gives empty outputs; then search
    areas, predictions and the presence of fragments are not checked.
    @param searchAreas one rectangle for each fragment, in frame coordinates, in which the whole fragment must lie; it
    is intersected with the frame: std::vector<Rect>, or a Mat of CV_32SC4 (N x 1 or 1 x N) or CV_32SC1 (N x 4: x, y,
    width, height), or, for a GpuMat frame, such a GpuMat; noArray() (None): the whole frame. Python accepts arrays of
    any integer type whose values fit 32 bits, and a list of (x, y, width, height); for a GpuMat frame only GpuMat or
    None. A GpuMat needs maxSearchArea, unless the last predictAreas() of the instance wrote it. An area of width or
    height 0, also Rect(), has no position. A captured graph keeps areas given on the host, and reads areas in device
    memory again at each replay.
    @param locations CV_32SC2, N x K: top-left corner in the frame of peak j of fragment i; (-1,-1) if there is no such
    peak. With Params::peaks = 1 all outputs may be std::vector; with more, confidence and status.
    @param scores CV_32FC1, N x K: scores, 0 is perfect for SAD and SSD, 1 for ZNCC; 0 if there is no such peak.
    @param confidence CV_32FC1, N x 1: second score / best score, for ZNCC (1 - second) / (1 - best); larger is more
    distinct, with FULL at least 1. +infinity: only the best score is perfect; -1: there is no second peak.
    @param status CV_8UC1, N x 1: FOUND (0); NO_POSITION (1), the fragment does not fit into its area, or its weights in
    device memory are all 0 (location (-1,-1), score 0, confidence -1); FLAT_FRAGMENT (2), ZNCC only, it is constant and
    all its scores are 0 (so peak 0 is the first position of its area, and confidence is 1 if there is a peak 1);
    AREA_TOO_LARGE (3), its area lies in device memory and, clipped to the frame, is larger than
    maxSearchArea, or than those of predictAreas() (location, score and confidence are those of NO_POSITION).
    @param refined CV_32FC2, N x K: location plus a sub-pixel offset in [-0.5,0.5] for each axis, from the scores at the
    peak and its two neighbours by Params::subpixelFit (two lines of opposite slope for SAD; 0 at the border of the
    area); (-1,-1) if there is no such peak. If Params::subpixel is false: the location.
    @param stream stream for GpuMat frames; ignored for Mat. Default: the null stream.
    @throws cv::Exception for a frame that is not empty: if there are no fragments, if its type is not theirs, if it is
    a Mat but they were given as GpuMat, if the metric is SAD and the type has 16 bits, if the size of areas in device memory is not known, or if areas or, with THREE_STEP,
    predictions have another number, type or memory than stated. */
    CV_WRAP virtual void match(InputArray frame, InputArray searchAreas, OutputArray locations,
                               OutputArray scores = noArray(), OutputArray confidence = noArray(),
                               OutputArray status = noArray(), OutputArray refined = noArray(),
                               Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Converts the outputs of match() to host structures. Waits for the stream if an input is a GpuMat.
    @param locations CV_32SC2, N x K; for K = 1 also CV_32SC1 of N x 2, or a std::vector. An empty array gives no
    matches; then the others are not checked.
    @param scores,confidence,status,refined outputs of match(), or noArray() (None) or empty. A std::vector counts as a
    column. Missing ones are replaced by score 0, confidence -1, status FOUND or, for a fragment without a peak,
    NO_POSITION, and refined = location.
    @param matches one FragmentMatch for each fragment, with members locations (x, y), refined (x, y) and scores, one
    element for each peak up to the first that is (-1,-1), confidence, and status, copied without a check.
    @param stream stream for GpuMat inputs; ignored for Mat. Default: the null stream.
    @throws cv::Exception if a type or size does not fit. */
    CV_WRAP static void convert(InputArray locations, InputArray scores, InputArray confidence, InputArray status,
                                InputArray refined, CV_OUT std::vector<FragmentMatch>& matches,
                                Stream& stream = cv::cuda::noStream());

    /** @brief Finds all fragments in a frame and returns structures on the host: match() and convert() in one call.
    Waits for the stream if the frame is a GpuMat.
    @param frame image to search, Mat or GpuMat of the fragments' type. An empty one gives no matches.
    @param searchAreas one rectangle for each fragment, in frame coordinates, in which the whole fragment must lie;
    noArray() (None): the whole frame. match() lists the accepted types.
    @param matches one FragmentMatch for each fragment, with members locations (x, y), refined (x, y) and scores, one
    element for each peak, the best one first; confidence, how distinct the best one is; status: FOUND (0),
    NO_POSITION (1), FLAT_FRAGMENT (2) or AREA_TOO_LARGE (3).
    @param stream stream for a GpuMat frame; ignored for Mat. Default: the null stream.
    @throws cv::Exception for a frame that is not empty: if there are no fragments, if its type or memory does not fit
    them, or if areas have another number, type or memory than stated. */
    CV_WRAP virtual void find(InputArray frame, InputArray searchAreas, CV_OUT std::vector<FragmentMatch>& matches,
                              Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes the scores of all positions of one fragment. Waits only if the frame is a GpuMat and map is a
    Mat, UMat or std::vector.
    @param index index of the fragment, 0 to getFragmentCount()-1.
    @param frame image to search, Mat or GpuMat of the fragments' type. An empty one gives an empty map.
    @param searchArea rectangle in frame coordinates, in which the whole fragment must lie; it is intersected with the
    frame. Rect(), (0,0,0,0), means the whole frame; any other rectangle of width or height 0 has no position.
    @param map (area height - fragment height + 1) rows, (area width - fragment width + 1) columns; empty if there is no
    position.
    @param depth CV_32F (default): the score. CV_32S or CV_64F: the sum of SAD or SSD with its weights, not divided by
    their sum (without weights 255 times the plain sum); not for ZNCC. CV_32S takes fragments of 8 bits of at most
    11,008 pixels for SAD and 43 for SSD, whatever the number of channels. CV_64F is exact up to 2^53, so only sums of
    SSD of more than 180 million pixels of 8 bits, or of more than 2,740 of 16 bits, can be rounded. For double values
    ask for CV_64F: on ARM, Mat::convertTo() rounds CV_32S to float on the way to CV_64F.
    @param stream stream for a GpuMat frame; ignored for Mat. Default: the null stream.
    @throws cv::Exception if index, depth or the size of searchArea is out of its range, if the fragment is too large
    for the depth or for ZNCC, or if type or memory of the frame does not fit the fragments. */
    CV_WRAP virtual void scoreMap(int index, InputArray frame, const Rect& searchArea, OutputArray map,
                                  int depth = CV_32F, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes the scores of all positions of all N fragments into one buffer. Waits only if the frame is a
    GpuMat and buffer is a Mat, UMat or std::vector.
    @param frame image to search, Mat or GpuMat of the fragments' type. An empty one gives an empty buffer and no
    offsets.
    @param searchAreas one rectangle for each fragment, on the host also for a GpuMat frame: std::vector<Rect>, a Mat of
    CV_32SC4 (N x 1 or 1 x N) or CV_32SC1 (N x 4), in Python also a list of (x, y, width, height). noArray() (None): the
    whole frame.
    @param buffer 1 x M, one channel of the depth, M being the number of positions of all fragments, below 2^31; the
    rows of a map follow each other without gaps. Empty if there is no position.
    @param offsets N + 1 numbers: the map of fragment i has the elements offsets[i] to offsets[i+1]-1. Both numbers are
    equal if it has no position. The last one is M.
    @param depth CV_32F (default): scores. CV_32S or CV_64F: sums of SAD or SSD, see scoreMap().
    @param stream stream for a GpuMat frame; ignored for Mat. Default: the null stream.
    @throws cv::Exception if depth is out of its range, if a fragment is too large for the depth or for ZNCC, if type or
    memory of the frame does not fit the fragments, if areas have another number or type than stated or are in device
    memory, or if there are 2^31 positions or more. */
    CV_WRAP virtual void scoreMaps(InputArray frame, InputArray searchAreas, OutputArray buffer,
                                   CV_OUT std::vector<int>& offsets, int depth = CV_32F,
                                   Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes search areas for the next frame from locations in this one: (x - radius, y - radius, width + 2
    radius, height + 2 radius) for a fragment of width x height at (x, y). With GpuMat, all data stay on the device, and
    match() of this instance takes the areas without maxSearchArea until the next call of predictAreas().
    Waits only if locations is a GpuMat and areas is a Mat, UMat or std::vector.
    @param locations one top-left corner for each fragment, for example the locations of match(): CV_32SC2 with N rows,
    of which column 0 is used, CV_32SC1 of N x 2, a std::vector or, in Python, a list of (x, y). They may lie outside of
    the frame. (-1,-1) means no match and gives an empty area, so that the fragment keeps status NO_POSITION.
    @param radius largest motion of a fragment in each direction, pixels; at least 0.
    @param frameSize (width, height) of the next frame, pixels, each at least 0; areas are intersected with it.
    @param areas CV_32SC4, N x 1, or a std::vector. It may be a GpuMat only if locations is a GpuMat.
    @param stream stream for GpuMat locations; ignored for Mat. Default: the null stream.
    @throws cv::Exception if the number of locations is not that of the fragments, or if an argument is out of its
    range. */
    CV_WRAP virtual void predictAreas(InputArray locations, int radius, Size frameSize, OutputArray areas,
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Makes a rotated and scaled copy of a template and its weights on the host, with bilinear interpolation,
    for addFragment().
    @param templ template, a Mat: CV_8U or CV_16U with 1, 3 or 4 channels.
    @param weights weights of its size, a Mat: CV_8UC1, or CV_32FC1 with values in [0,1]; noArray() (None): none.
    @param angle rotation in degrees, counter-clockwise.
    @param scale scale factor, above 0.
    @param warped bounding box of the rotated template; sides rounded to the nearest integer, 1 to 32,767.
    @param warpedWeights CV_8UC1 of the same size: 0 outside of the template, interpolated at its border.
    @throws cv::Exception if an argument is out of its range or in device memory. */
    CV_WRAP static void warpFragment(InputArray templ, InputArray weights, double angle, double scale,
                                     OutputArray warped, OutputArray warpedWeights);

    /** @brief Returns the number of fragments. */
    CV_WRAP virtual int getFragmentCount() const = 0;
    /** @brief Returns the size (width, height) of one fragment in pixels.
    @param index index of the fragment, 0 to getFragmentCount()-1.
    @throws cv::Exception if index is out of its range. */
    CV_WRAP virtual Size getFragmentSize(int index) const = 0;
    /** @brief Returns the device and pinned host memory held by this instance in bytes, including fragments and memory
    that graphs refer to. The memory of the CPU backend is not counted: besides copies of the fragments it keeps at most
    128 MiB between calls, for all threads together. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Returns the name of the class in files: "FragmentMatcher". save() and write() store parameters, not
    fragments. */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    //! Writes the parameters.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads parameters; those that the node lacks keep their values. There is no reader for untrusted files:
    FileStorage is not safe with malicious ones. Call matcher->read(storage.getFirstTopLevelNode()) on a matcher of
    create(): Algorithm::load<FragmentMatcher>() returns an empty Ptr, since a matcher without fragments is empty().
    @throws cv::Exception if the node has none of the parameters, or one that is out of its range or of another type,
    such as a fraction for an integer; no parameter changes then. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
    /** @brief Returns true if there are no fragments. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
};

/** @brief Grid of equal windows of a frame, for the motion between two images: particles, ice, ground.

Each window is a fragment of the first image that FragmentMatcher searches in the second one, around its own place or
around the place that a field of motion gives. All methods but regions() take arrays on the host or in device memory,
do not wait, and can be captured into a CUDA graph; both backends give the same bits. A grid has no state but its
members, so several threads may use it at once.

@code
// Motion between two images. Pass 1: windows of 32 pixels, at most 12 pixels in each direction. Pass 2: windows of 16
// pixels, at most 3 pixels from the motion of pass 1. Windows overlap by half.
void motion(const cv::Mat& first, const cv::Mat& second, cv::Mat& u, cv::Mat& v, cv::Mat& valid)
{
    cv::cuda::FragmentMatcher::Params params;
    params.metric = cv::cuda::FragmentMatcher::ZNCC;
    params.subpixel = true;
    params.subpixelFit = cv::cuda::FragmentMatcher::GAUSSIAN;
    const cv::Ptr<cv::cuda::FragmentMatcher> matcher = cv::cuda::FragmentMatcher::create(params);
    u = v = cv::Mat(); // no motion yet
    for (const auto& [side, reach] : {std::pair(32, 12), std::pair(16, 3)})
    {
        const cv::cuda::WindowGrid grid =
            cv::cuda::WindowGrid::create(first.size(), cv::Size(side, side), cv::Size(side / 2, side / 2));
        std::vector<cv::Rect> windows, areas;
        grid.regions(windows);
        grid.areas(cv::Size(reach, reach), u, v, areas);
        matcher->cutFragments(first, windows);
        cv::Mat locations, scores, confidences, status, refined;
        matcher->match(second, areas, locations, scores, confidences, status, refined);
        grid.field(areas, refined, scores, confidences, status, u, v, cv::noArray(), cv::noArray(), valid);
    }
}
@endcode
*/
struct CV_EXPORTS_W_SIMPLE WindowGrid
{
    //! Makes a grid without a frame, which all methods refuse. In Python only create() makes grids.
    WindowGrid() {}

    /** @brief Makes a grid whose first window is in the top-left corner of the frame. All windows lie inside of it.
    @param frame (width, height) of the images in pixels, 1 to 32,767 each.
    @param window (width, height) of a window in pixels, at most those of the frame.
    @param step distance (x, y) between neighbouring windows in pixels, 1 to 32,767 each. Half of the window is an
    overlap of 50 %.
    @throws cv::Exception if a size is out of its range, or if there are more than 100,000 windows. */
    CV_WRAP static WindowGrid create(Size frame, Size window, Size step);

    CV_PROP_RW Size frame;  //!< width and height of the images, pixels
    CV_PROP_RW Size window; //!< width and height of a window, pixels
    CV_PROP_RW Size step;   //!< distance between neighbouring windows, pixels

    /** @brief Returns the number of columns (width) and rows (height) of the grid.
    @throws cv::Exception if a member is out of its range. */
    CV_WRAP Size size() const;

    /** @brief Returns the windows row by row, for FragmentMatcher::cutFragments().
    @param regions CV_32SC4, N x 1, or std::vector<Rect>: (x, y, width, height).
    @throws cv::Exception if a member is out of its range. */
    CV_WRAP void regions(OutputArray regions) const;

    /** @brief Returns a search area for each window, for FragmentMatcher::match(): the window, moved by a field of
    motion, and enlarged by `reach` on each side. Areas are not clipped to the frame. If they are a GpuMat, set
    Params::maxSearchArea to window + 2 reach.
    @param reach largest motion (x, y) beyond that of the field in pixels, 0 to 32,767 each.
    @param u,v field of motion in pixels: CV_32FC1 of any number of rows and columns, which is stretched over the grid
    by numbers, not by positions: window i of n takes element floor((i + .5) m / n) of m, rounded to whole pixels, half
    to even.
    NaN or infinity in either gives an empty area, so that the window has no match. Both lie in the same memory as
    `areas`. Empty (None) for both: no motion.
    @param areas CV_32SC4, N x 1, or std::vector<Rect>; a GpuMat: the work is done on the device.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if a member or argument is out of its range, or if u and v have another type, different sizes
    or another memory than areas. */
    CV_WRAP void areas(Size reach, InputArray u, InputArray v, OutputArray areas,
                       Stream& stream = cv::cuda::noStream()) const;

    /** @brief Converts matches of all windows to a field: arrays with the rows and columns of the grid. The first peak
    of each window counts. All arrays are Mat, or all are GpuMat.
    @param areas search areas of the match, those of areas() or others: CV_32SC4, N x 1, or std::vector<Rect>.
    @param refined,scores,confidences,status outputs of FragmentMatcher::match(): CV_32FC2 and CV_32FC1 of N rows,
    CV_32FC1 and CV_8UC1 of N x 1.
    @param u,v CV_32FC1: motion in pixels, the position of a match minus that of its window; NaN where there is none.
    @param score CV_32FC1: score of the match; 0 if there is none.
    @param confidence CV_32FC1: confidence of the match; -1 if there is no second peak.
    @param valid CV_8UC1: 1 where there is a match inside its area, else 0. Where it is 0 and u is not NaN, the match is
    at the limit: at the first or last position in x or y of the area, clipped to the frame. It is not refined there,
    and the motion may be larger than the area allows, whatever the score. An axis without reach, where the area is as
    long as the window, has no limit. Valid does not mean right: a window whose content is gone has a best place, too.
    @param stream stream for GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if a member is out of its range, or if an array has another type, number of rows or memory
    than stated. */
    CV_WRAP void field(InputArray areas, InputArray refined, InputArray scores, InputArray confidences,
                       InputArray status, OutputArray u, OutputArray v, OutputArray score = noArray(),
                       OutputArray confidence = noArray(), OutputArray valid = noArray(),
                       Stream& stream = cv::cuda::noStream()) const;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP
