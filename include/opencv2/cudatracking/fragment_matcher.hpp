// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// over budget: OpenCV's Python help() shows only the comments before methods, so each repeats what its caller needs.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Result of FragmentMatcher for one fragment, on the host. FragmentMatcher::convert() and find() fill it. */
struct CV_EXPORTS_W_SIMPLE FragmentMatch
{
    CV_WRAP FragmentMatch() : confidence(-1.f), status(0) {}

    /** Top-left corner of each peak in frame coordinates (pixels), best first. With THREE_STEP peak 1 may be better
    than peak 0. */
    CV_PROP_RW std::vector<Point> locations;
    /** Locations with sub-pixel refinement, one for each peak; equal to `locations` if Params::subpixel is false. */
    CV_PROP_RW std::vector<Point2f> refined;
    CV_PROP_RW std::vector<float> scores; //!< score of each peak, see FragmentMatcher
    CV_PROP_RW float confidence;          //!< confidence, see FragmentMatcher; -1 if there is no second peak
    CV_PROP_RW int status;                //!< FragmentMatcher::Status
};

/** @brief Exact template matching of many weighted templates at once, each in its own search area.

A fragment is a template: a small image with an optional weight for each pixel. match() searches each fragment in its
own search area. It reports the K best positions that keep a distance from each other, their scores, and a confidence
that tells how far the best one stands out. The search is exhaustive unless Params::search is THREE_STEP. Elimination,
used for SAD of large fragments, leaves out positions that cannot be a peak; it does not change the results.

**Frame and templates**: CV_8UC1, CV_8UC3 or CV_8UC4 (the fourth channel is ignored), all of one type; sides 1 to 32,767
pixels.
**Weights** q: CV_8UC1 with q = 0 to 255, or CV_32FC1 with values w in [0,1] and q = round-half-even(255 w). They have
the size of the template; without weights q = 255 everywhere. Unlike in cv::matchTemplate() an 8-bit mask is not
binarised.

**Score** at one position. I is the frame, T the template, c the channel; sum() runs over the pixels of the template:

    SAD    s / W, s = sum over c of sum(q |I - T|), W = sum(q)     0 is a perfect match
    SSD    s / W, s = sum over c of sum(q (I - T)^2)               0 is a perfect match
    ZNCC   (n_1 + .. + n_C) / (sqrt(v_1 + .. + v_C) sqrt(t_1 + .. + t_C)), weighted Pearson correlation, 1 is perfect
           n_c = W sum(q I T) - sum(q I) sum(q T)
           v_c = W sum(q I^2) - sum(q I)^2     all v_c 0, a constant frame patch: score 0
           t_c = W sum(q T^2) - sum(q T)^2     all t_c 0, a constant fragment: score 0

All sums are exact integers. The score is computed from them in double precision and rounded to float, so it depends
neither on the backend nor on the order of summation nor on the number of threads. Positions are compared by s for SAD
and SSD, and by the float score for ZNCC.
**Ties**: the position with the lowest row-major index in the area wins.

**Peaks**: peak 0 is the best position. Peak j is the best position outside the exclusion zones of peaks 0 to j-1. A
position at offset (dx, dy) from a peak is outside its zone if max(|dx|,|dy|) >= d (SQUARE) or min(|dx|,|dy|) >= d
(CROSS).

**Confidence** is the ratio of peak 1 to peak 0: score 1 / score 0 for SAD and SSD, (1 - score 1) / (1 - score 0) for
ZNCC. A larger value means a more distinct match; with FULL it is at least 1. Special values: +infinity if only peak 0
is perfect, 1 if both are perfect, -1 if there is no peak 1, so always for K = 1. Its scale differs between metrics: a
threshold for SAD does not suit SSD, whose scores are squares.

**Waiting, lifetimes, threads**: see the tables in cudatracking.hpp. Calls of several threads are executed one after
another; they share fragments and parameters.
**CUDA graphs**: fragments given as Mat must have been uploaded by a match() outside of a capture before a call with a
GpuMat frame is captured. A graph keeps the parameters, host search areas and the set of fragments of its capture. Each
replay reads the frame, search areas and predictions in device memory, and the contents of the fragments again. So it
sees later calls that replace contents, such as updateFragment() (with Mat: after the next match() not captured).
After an edit that changes the number of fragments, a size or the presence of weights, capture again: the old graph
keeps the old set; what later edits change in it is undefined. An abandoned or failed capture changes nothing.
**Errors**: every method throws cv::Exception for arguments outside of the stated ranges, if memory cannot be allocated,
or if CUDA fails.

Source: Yu. V. Ladyzhensky, A. O. Sereda, Search of image fragments by template for tracking objects in video on the
parallel architecture CUDA, 2010 (weighted fragments, best and second position, three-step search); Y. Ma, X. Yuan, J.
Li, 2014 (ZNCC on CUDA). Definitions in full, cost and figures: doc/fragment_matcher.md. */
class CV_EXPORTS_W FragmentMatcher : public Algorithm
{
public:
    //! Measure by which positions are compared.
    enum Metric
    {
        SAD = 0, //!< weighted sum of absolute differences
        SSD = 1, //!< weighted sum of squared differences
        ZNCC = 2 //!< weighted zero-mean normalised cross-correlation; fragments of at most 53,824 pixels (232 x 232)
    };
    //! Shape of the exclusion zone around a peak.
    enum Exclusion
    {
        SQUARE = 0, //!< the exclusion zone of a peak is a square around it
        CROSS = 1   //!< the exclusion zone of a peak is the band of rows and the band of columns around it
    };
    //! Search method for peak 0.
    enum Search
    {
        FULL = 0, //!< exhaustive search
        /** Approximate three-step search for peak 0. Each step evaluates nine points and moves to the best one; the
        distance of the points starts at 2^(ceil(log2(R + 1)) - 1), R being the largest distance along x or y from the
        start to the border of the grid of positions, and is halved down to 1. It finds the best position only if scores
        improve towards it from far away. Further peaks are found by exhaustive search, so it saves time only if
        Params::peaks is 1. */
        THREE_STEP = 1
    };
    //! Outcome of the search for a fragment.
    enum Status
    {
        FOUND = 0,         //!< there is at least one peak
        NO_POSITION = 1,   //!< it does not fit into its area, or its weights in device memory sum to 0: no peak
        FLAT_FRAGMENT = 2, //!< ZNCC only: the fragment is constant, so all its scores are 0
        AREA_TOO_LARGE = 3 //!< it fits, but an area in device memory exceeds maxSearchArea inside of the frame
    };

    //! Parameters of a matcher. create() and setParams() check their ranges.
    struct CV_EXPORTS_W_SIMPLE Params
    {
        CV_WRAP Params();

        CV_PROP_RW int metric;            //!< Metric. Default SAD
        CV_PROP_RW int exclusion;         //!< Exclusion. Default SQUARE
        CV_PROP_RW int exclusionDistance; //!< d, pixels, 1..32767; 0: half of the smaller side, at least 1. Default 0
        CV_PROP_RW int peaks;             //!< K, number of peaks, 1..16. Default 2: best and second best
        CV_PROP_RW bool subpixel;         //!< whether peaks are refined from their direct neighbours. Default false
        CV_PROP_RW int search;            //!< Search. Default FULL
        /** Largest width and height of search areas in device memory after they are clipped to the frame, pixels; it
        limits scratch memory and kernel grids. Width and height are checked independently; 0 means the width or height
        of the frame. Default (0,0). */
        CV_PROP_RW Size maxSearchArea;
    };

    /** @brief Creates a matcher without fragments, for exact template matching of many weighted templates at once.
    Calls of several threads on one object are executed one after another.
    @param params parameters. Default: Params(), that is the defaults of all members below.
    metric: SAD (0, default) or SSD (1), the weighted sum of absolute or squared differences divided by the sum of
    weights, 0 is perfect; ZNCC (2), weighted zero-mean normalised cross-correlation, 1 is perfect, fragments of at
    most 53,824 pixels.
    exclusion: zone in which no further peak may lie: SQUARE (0, default) keeps max(|dx|,|dy|) >= d between peaks;
    CROSS (1) keeps min(|dx|,|dy|) >= d.
    exclusionDistance: d in pixels, 1 to 32767; default 0, which means half of the smaller side of the fragment,
    rounded down, at least 1.
    peaks: number K of peaks, 1 to 16; default 2, the best and the second best.
    subpixel: whether peaks are refined from their direct neighbours; default False.
    search: FULL (0, default), exhaustive; THREE_STEP (1), approximate three-step search for the best position.
    maxSearchArea: largest (width, height) of search areas in device memory after they are clipped to the frame;
    default (0, 0), the size of the frame. Both sides are checked independently. Set it if areas are in device memory:
    it limits scratch memory and kernel grids.
    @throws cv::Exception if a member of params is out of its range. */
    CV_WRAP static Ptr<FragmentMatcher> create(const FragmentMatcher::Params& params = FragmentMatcher::Params());

    /** @brief Replaces all parameters; the fragments stay.
    @param params parameters as in create(). match() checks the size limit of ZNCC later.
    @throws cv::Exception if a member is out of its range; the old parameters stay. */
    CV_WRAP virtual void setParams(const FragmentMatcher::Params& params) = 0;
    /** @brief Returns a copy of the parameters; create() explains them. */
    CV_WRAP virtual FragmentMatcher::Params getParams() const = 0;

    /** @brief Replaces all fragments by one. In Python this is setFragments() with one array instead of a list.
    @param templ template, one array of a type as in setFragments().
    @param weights weights of the template as in setFragments(). Default: none.
    @param stream stream as in setFragments(). Default: the null stream.
    @throws cv::Exception as setFragments(). */
    CV_WRAP_AS(setFragments)
    void setFragment(InputArray templ, InputArray weights = noArray(), Stream& stream = cv::cuda::noStream())
    {
        setFragments(templ, weights, stream);
    }

    /** @brief Replaces all fragments. The call copies them and does not wait. Templates given as Mat can be matched
    against Mat and GpuMat frames (the first match() with a GpuMat uploads them); templates given as GpuMat only against
    GpuMat frames.
    @param templates list of 1 to 100,000 Mat or GpuMat, all CV_8UC1, CV_8UC3 or CV_8UC4 (the fourth channel is
    ignored). Sides are 1 to 32,767 pixels and may differ. In Python always pass a list if weights is one.
    @param weights list with one array for each template, of its size and in the same memory (host or device): CV_8UC1,
    or CV_32FC1 with values in [0,1], which become 0 to 255. An empty array means no weights for that template. numpy's
    bool is refused: use 255 * mask.astype(np.uint8). Default: no weights, which equals a weight of 255 for every pixel.
    @param stream stream for GpuMat templates; ignored for Mat. Default: the null stream. If it is being captured, each
    replay copies the contents again; number, sizes, type and presence of weights must equal those of the current
    fragments. The host cannot check weights in device memory: NaN and values outside of [0,1] are read as 0; a fragment
    whose weights sum to 0 gets status NO_POSITION, and its score maps are 0.
    @throws cv::Exception if sizes or types do not fit, if a host weight is NaN or outside of [0,1], or if all host
    weights of a fragment are 0 after conversion to 8 bit. The old fragments stay. */
    CV_WRAP virtual void setFragments(InputArrayOfArrays templates, InputArrayOfArrays weights = noArray(),
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Replaces all fragments by copies of regions of a frame. Does not wait. With a GpuMat frame they are cut
    on the device.
    @param frame image to cut from, Mat or GpuMat of a type as in setFragments().
    @param regions rectangles (x, y, width, height) inside of the frame, one for each fragment, 1 to 100,000.
    @param weights weights as in setFragments(). Default: none.
    @param stream stream as in setFragments(). Default: the null stream.
    @throws cv::Exception as setFragments(), and if a region is empty or not inside of the frame. The old fragments
    stay. */
    CV_WRAP virtual void cutFragments(InputArray frame, const std::vector<Rect>& regions,
                                      InputArrayOfArrays weights = noArray(),
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Appends one fragment. Does not wait. A call with a GpuMat throws while its stream is being captured.
    @param templ template, one array; its element type and memory (Mat or GpuMat) must be those of the existing
    fragments.
    @param weights weights of the template as in setFragments(). Default: none.
    @param stream stream for a GpuMat template; ignored for Mat. Default: the null stream.
    @return index of the fragment, from 0.
    @throws cv::Exception as setFragments(), and if there are 100,000 fragments already. */
    CV_WRAP virtual int addFragment(InputArray templ, InputArray weights = noArray(),
                                    Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Replaces one fragment; its size may change. The other fragments are not copied again. Does not wait.
    @param index index of the fragment, 0 to getFragmentCount()-1.
    @param templ,weights,stream arguments as in addFragment(). Default: no weights, the null stream. If the stream is
    being captured, size and presence of weights must equal those of the current fragment.
    @throws cv::Exception as addFragment(), and if index is out of its range. */
    CV_WRAP virtual void updateFragment(int index, InputArray templ, InputArray weights = noArray(),
                                        Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Removes one fragment; the indices of later ones decrease by one.
    @param index index of the fragment, 0 to getFragmentCount()-1.
    @throws cv::Exception if index is out of its range. */
    CV_WRAP virtual void removeFragment(int index) = 0;
    /** @brief Removes all fragments; parameters and memory are kept. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;

    /** @brief Sets the positions at which THREE_STEP starts. FULL ignores them.
    @param locations one top-left corner for each fragment in frame coordinates: CV_32SC2 with N rows (further columns
    are ignored, so the locations of match() can be passed), CV_32SC1 of N x 2, a std::vector or, in Python, a list of
    (x, y). Each is moved to the nearest position of the fragment in its area; so is (-1,-1), which has no other meaning
    here. Mat and GpuMat are kept by reference until they are replaced, all else is copied. match() and find() use them
    only with THREE_STEP, and check then that N is the number of fragments, and that they are a GpuMat for a GpuMat
    frame and not for a Mat frame. noArray() (None) or an empty array: THREE_STEP starts at the centre of the grid of
    positions, ((columns-1)/2, (rows-1)/2) rounded down.
    @throws cv::Exception if the type is another one, or CV_32SC1 has not two columns. */
    CV_WRAP virtual void setPredictions(InputArray locations) = 0;

    /** @brief Finds all N fragments in a frame. Waits only if the frame is a GpuMat and an output is a Mat, UMat or
    std::vector.
    @param frame image to search, Mat or GpuMat of the fragments' type. An empty one gives empty outputs; then search
    areas, predictions and the presence of fragments are not checked.
    @param searchAreas one rectangle for each fragment, in frame coordinates, in which the whole fragment must lie; it
    is intersected with the frame: std::vector<Rect>, or a Mat of CV_32SC4 (N x 1 or 1 x N) or CV_32SC1 (N x 4: x, y,
    width, height), or, for a GpuMat frame, such a GpuMat; noArray() (None): the whole frame. Python accepts integers of
    any width that fit 32 bits, and a list of (x, y, width, height); for a GpuMat frame only GpuMat or None. An area of
    width or height 0 has no position. A captured graph keeps areas given on the host, and reads areas in device memory
    again at each replay.
    @param locations CV_32SC2, N x K: top-left corner in the frame of peak j of fragment i; (-1,-1) if there is no such
    peak. Each output with one column or one row may be a std::vector.
    @param scores CV_32FC1, N x K: scores; 0 if there is no such peak.
    @param confidence CV_32FC1, N x 1: second score / best score, for ZNCC (1 - second) / (1 - best); larger is more
    distinct, with FULL at least 1. +infinity: only the best score is perfect; -1: there is no second peak.
    @param status CV_8UC1, N x 1: FOUND (0); NO_POSITION (1), the fragment does not fit into its area, or its weights in
    device memory sum to 0 (location (-1,-1), score 0, confidence -1); FLAT_FRAGMENT (2), ZNCC only, it is constant and
    all its scores are 0; AREA_TOO_LARGE (3), it fits into its area, but the area lies in device memory and exceeds
    maxSearchArea inside of the frame; the other outputs are those of NO_POSITION.
    @param refined CV_32FC2, N x K: location plus a sub-pixel offset in [-0.5,0.5] for each axis, from three scores
    (equiangular lines for SAD, a parabola for SSD and ZNCC; 0 at the border of the area); (-1,-1) if there is no such
    peak. If Params::subpixel is false: the location.
    @param stream stream for GpuMat frames; ignored for Mat. Default: the null stream.
    @throws cv::Exception, unless the frame is empty, if there are no fragments, if the type of the frame is not that of
    the fragments, if fragments given as GpuMat meet a Mat frame, or if areas or, with THREE_STEP, predictions have
    another number, type or memory than stated. */
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
    @param matches one structure for each fragment: its confidence, its status as given (any byte), and its peaks up to
    the first that is (-1,-1).
    @param stream stream for GpuMat inputs; ignored for Mat. Default: the null stream.
    @throws cv::Exception if a type or size does not fit. */
    CV_WRAP static void convert(InputArray locations, InputArray scores, InputArray confidence, InputArray status,
                                InputArray refined, CV_OUT std::vector<FragmentMatch>& matches,
                                Stream& stream = cv::cuda::noStream());

    /** @brief Runs match() and convert(). Waits for the stream if the frame is a GpuMat.
    @param frame,searchAreas arguments as in match().
    @param matches result as in convert().
    @param stream stream for a GpuMat frame; ignored for Mat. Default: the null stream.
    @throws cv::Exception as match(). */
    CV_WRAP virtual void find(InputArray frame, InputArray searchAreas, CV_OUT std::vector<FragmentMatch>& matches,
                              Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes the scores of all positions of one fragment. Waits as match().
    @param index index of the fragment, 0 to getFragmentCount()-1.
    @param frame image to search, as in match().
    @param searchArea rectangle in frame coordinates as in match(), except that Rect(), (0,0,0,0), is the whole frame.
    @param map (area height - fragment height + 1) rows, (area width - fragment width + 1) columns; empty if there is no
    position.
    @param depth CV_32F (default): the score. CV_32S: the integer sum s of SAD (fragments of at most 11,008 pixels) or
    SSD (at most 43 pixels), whatever the number of channels. CV_64F: s of SAD or SSD rounded to the nearest double,
    which is s itself up to 2^53. SAD never exceeds that; SSD can with fragments of more than 181,070,000 pixels, gray
    543,210,000. ZNCC supports CV_32F only.
    @param stream stream for a GpuMat frame; ignored for Mat. Default: the null stream.
    @throws cv::Exception as match(), and, with an empty frame too, if index, depth or the size of searchArea is out of
    its range. */
    CV_WRAP virtual void scoreMap(int index, InputArray frame, const Rect& searchArea, OutputArray map,
                                  int depth = CV_32F, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes the scores of all positions of all fragments into one buffer of M elements, M below 2^31. Waits
    as match().
    @param frame image to search, as in match().
    @param searchAreas rectangles on the host as in match(), not in a GpuMat.
    @param buffer 1 x M, one channel of the depth; the rows of a map follow each other without gaps. Empty if there is
    no position.
    @param offsets N + 1 numbers: the map of fragment i has the elements offsets[i] to offsets[i+1]-1, and offsets[N] =
    M. Both are equal if fragment i has no position. Empty if the frame is empty.
    @param depth,stream arguments as in scoreMap(). Default: CV_32F, the null stream.
    @throws cv::Exception as scoreMap(), and if there are 2^31 positions or more. */
    CV_WRAP virtual void scoreMaps(InputArray frame, InputArray searchAreas, OutputArray buffer,
                                   CV_OUT std::vector<int>& offsets, int depth = CV_32F,
                                   Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes search areas for the next frame from locations in this one. With GpuMat, all data stay on the
    device. Waits as match().
    @param locations locations as in setPredictions(), for example those of match(); column 0 is used. They may lie
    outside of the frame. (-1,-1) means no match and gives an empty area, so that the fragment keeps status NO_POSITION.
    @param radius largest motion of a fragment in each direction, pixels; at least 0.
    @param frameSize (width, height) of the next frame, pixels, each at least 0; areas are intersected with it.
    @param areas CV_32SC4, N x 1, or a std::vector; a GpuMat only if locations is one.
    @param stream stream for GpuMat locations; ignored for Mat. Default: the null stream.
    @throws cv::Exception if the number of locations is not that of the fragments, or if an argument is out of its
    range. */
    CV_WRAP virtual void predictAreas(InputArray locations, int radius, Size frameSize, OutputArray areas,
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Makes a rotated and scaled copy of a template and its weights on the host, with bilinear interpolation,
    for addFragment().
    @param templ template, a Mat of a type as in setFragments().
    @param weights weights, a Mat as in setFragments(), or noArray() (None).
    @param angle rotation in degrees, counter-clockwise.
    @param scale scale factor, above 0.
    @param warped bounding box of the rotated template; sides rounded to the nearest integer, 1 to 32,767.
    @param warpedWeights CV_8UC1 of the same size; weights fall to 0 outside of the source.
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
    /** Reads parameters; those that the node lacks keep their values. Algorithm::load<FragmentMatcher>() calls
    it with what FileStorage has parsed, which does not withstand malicious files. @throws cv::Exception if the node has
    none of the parameters, or one that is out of its range or of another type, such as a fraction for an integer; all
    parameters stay. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
    /** @brief Returns true if there are no fragments. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_HPP
