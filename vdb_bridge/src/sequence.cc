#include "data.hpp"
#include "settings.h"

#include "firn/file.h"
#include "firn/vdb_sequence.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

using namespace firn_vdb;

namespace
{

constexpr int FRAME_LIMIT = 1000000; // files of a sequence
constexpr size_t LIST_LIMIT = 400;   // bytes of a message that list frames

struct gap {
    int frame;
    firn_error error;
};

/// A file that has been read, or why it could not be.
struct outcome {
    std::shared_ptr<firn_vdb_shape> shape;
    firn_error error = {};
};

struct shape_release {
    void operator()(firn_vdb_shape *shape) const { firn_vdb_shape_destroy(shape); }
};

struct reader_release {
    void operator()(firn_vdb_reader *reader) const { firn_vdb_reader_destroy(reader); }
};

/// "3, 7-9, 12"
std::string list_frames(const std::vector<gap> &gaps)
{
    std::string text;
    for (size_t i = 0, next; i < gaps.size(); i = next) {
        for (next = i + 1; next < gaps.size() && gaps[next].frame == gaps[next - 1].frame + 1;)
            next++;
        if (text.size() > LIST_LIMIT)
            return text + ", ...";
        text += (i > 0 ? ", " : "") + std::to_string(gaps[i].frame);
        if (next - i > 1)
            text += "-" + std::to_string(gaps[next - 1].frame);
    }
    return text;
}

} // namespace

struct firn_vdb_sequence {
    firn_vdb_sequence_def def;
    std::string pattern, grid, velocity_grid, helper; // what def points to
    std::vector<gap> gaps;
    std::vector<firn_vdb_gap> gap_view;
    std::vector<int> present;                                // frames with a usable file, rising
    std::unique_ptr<firn_vdb_reader, reader_release> reader; // used by the thread only

    std::mutex mutex; // guards what follows
    std::condition_variable changed;
    std::vector<int> wanted;        // frames to read, the most urgent first
    std::map<int, outcome> results; // of frames that are or were wanted
    bool closing = false;
    std::thread thread;

    std::shared_ptr<firn_vdb_shape> held[2]; // what the caller sees

    explicit firn_vdb_sequence(const firn_vdb_sequence_def &settings);
    ~firn_vdb_sequence();

    std::string path_of(int frame) const;
    void scan();
    void link_gaps();
    outcome read(int frame);
    void read_ahead();
    outcome wait_for(int frame);
    void give_up(int frame, const firn_error &error);
    void take(const int frames[2], int files[2], firn_vdb_key keys[2]);
    void want(int first, int second);
    int at_or_before(int frame) const;
    int at_or_after(int frame) const;
    void resolve(int frame, int side, int &file, double &key) const;
};

firn_vdb_sequence::firn_vdb_sequence(const firn_vdb_sequence_def &settings)
    : def(settings), pattern(settings.pattern)
{
    auto keep = [](const char *&text, std::string &copy) {
        copy = text != nullptr ? text : "";
        text = copy.empty() ? nullptr : copy.c_str();
    };
    def.pattern = pattern.c_str();
    keep(def.shape.grid, grid);
    keep(def.shape.velocity_grid, velocity_grid);
    keep(def.reader.helper, helper);
    scan();
    firn_vdb_reader *created = nullptr;
    require(
        [&](firn_error *error) { return firn_vdb_reader_create(&def.reader, &created, error); });
    reader.reset(created);
    thread = std::thread([this] { read_ahead(); });
}

firn_vdb_sequence::~firn_vdb_sequence()
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        closing = true;
    }
    changed.notify_all();
    if (thread.joinable())
        thread.join();
}

std::string firn_vdb_sequence::path_of(int frame) const
{
    char path[FIRN_PATH_SIZE];
    require([&](firn_error *error) {
        return firn_path_of_frame(pattern.c_str(), frame + def.offset, path, sizeof path, error);
    });
    return path;
}

void firn_vdb_sequence::scan()
{
    if ((int64_t)def.last - def.first >= FRAME_LIMIT)
        fail(FIRN_ERR_ARGUMENT, "the vdb sequence '%s' has more than %d frames", def.pattern,
             FRAME_LIMIT);
    if (def.first < def.last && !firn_path_has_frame(def.pattern))
        fail(FIRN_ERR_ARGUMENT,
             "'%s' has no frame number; write $F4, #### or %%04d where the number stands",
             def.pattern);
    for (int frame = def.first; frame <= def.last; frame++) {
        firn_error error = {};
        if (firn_vdb_check(path_of(frame).c_str(), &error) == FIRN_OK)
            present.push_back(frame);
        else
            gaps.push_back({frame, error});
    }
    link_gaps();
    bool fatal = def.missing == FIRN_VDB_MISSING_ERROR || present.empty();
    if (fatal && !gaps.empty())
        fail(gaps[0].error.code,
             "%zu of the %d files of '%.200s' cannot be used (frames %s); make them again, or have "
             "the sequence hold or interpolate; the first: %s",
             gaps.size(), def.last - def.first + 1, def.pattern, list_frames(gaps).c_str(),
             gaps[0].error.message);
}

void firn_vdb_sequence::link_gaps()
{
    gap_view.clear();
    for (const gap &g : gaps)
        gap_view.push_back({g.frame, g.error.code, g.error.message});
}

// ---- the thread
// ----------------------------------------------------------------------------------

outcome firn_vdb_sequence::read(int frame)
{
    outcome result;
    guarded(&result.error, [&] {
        std::string path = path_of(frame);
        firn_vdb_stamp stamp;
        bool own = def.stamp != nullptr && def.stamp(frame, &stamp, def.user);
        firn_vdb_shape *shape = nullptr;
        require([&](firn_error *error) {
            return firn_vdb_read_shape(reader.get(), path.c_str(), own ? &stamp : nullptr,
                                       &def.shape, &shape, error);
        });
        result.shape.reset(shape, shape_release());
    });
    return result;
}

void firn_vdb_sequence::read_ahead()
{
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
        changed.wait(lock, [&] { return closing || !wanted.empty(); });
        if (closing)
            return;
        int frame = wanted.front();
        lock.unlock();
        outcome result = read(frame);
        lock.lock();
        results[frame] = std::move(result);
        auto place = std::find(wanted.begin(), wanted.end(), frame);
        if (place != wanted.end())
            wanted.erase(place);
        changed.notify_all();
    }
}

// ---- the caller
// ----------------------------------------------------------------------------------

/// Queues the two frames and those to read ahead; forgets all others.
void firn_vdb_sequence::want(int first, int second)
{
    std::vector<int> needed = {first};
    if (second != first)
        needed.push_back(second);
    auto next = std::upper_bound(present.begin(), present.end(), second);
    for (int i = 0; i < def.look_ahead && next != present.end(); i++)
        needed.push_back(*next++);
    {
        std::lock_guard<std::mutex> lock(mutex);
        wanted.clear();
        for (auto it = results.begin(); it != results.end();) {
            bool keep = std::find(needed.begin(), needed.end(), it->first) != needed.end() &&
                        it->second.shape != nullptr;
            it = keep ? std::next(it) : results.erase(it);
        }
        for (int frame : needed)
            if (results.find(frame) == results.end())
                wanted.push_back(frame);
    }
    changed.notify_all();
}

outcome firn_vdb_sequence::wait_for(int frame)
{
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return results.find(frame) != results.end(); });
    return results[frame];
}

/// Turns a file that could not be read into a gap, or throws where that is not allowed.
void firn_vdb_sequence::give_up(int frame, const firn_error &error)
{
    bool damaged = error.code == FIRN_ERR_FORMAT || error.code == FIRN_ERR_NOT_FOUND;
    if (!damaged)
        throw failure{error};
    bool fatal = def.missing == FIRN_VDB_MISSING_ERROR;
    if (fatal || present.size() < 2)
        fail(error.code, "%.600s; it is frame %d of '%.200s': make it again%s", error.message,
             frame, def.pattern,
             fatal ? ", or have the sequence hold or interpolate" : ", since no other can be used");
    auto place = std::lower_bound(gaps.begin(), gaps.end(), frame,
                                  [](const gap &g, int number) { return g.frame < number; });
    gaps.insert(place, {frame, error});
    link_gaps();
    present.erase(std::lower_bound(present.begin(), present.end(), frame));
}

int firn_vdb_sequence::at_or_before(int frame) const
{
    auto after = std::upper_bound(present.begin(), present.end(), frame);
    return after == present.begin() ? present.front() : *std::prev(after);
}

int firn_vdb_sequence::at_or_after(int frame) const
{
    auto found = std::lower_bound(present.begin(), present.end(), frame);
    return found == present.end() ? present.back() : *found;
}

/// The file that stands for a frame, and the frame of its key. side 1 looks forward.
void firn_vdb_sequence::resolve(int frame, int side, int &file, double &key) const
{
    bool inside = frame > present.front() && frame < present.back();
    bool between = def.missing == FIRN_VDB_MISSING_INTERPOLATE && inside;
    file = side == 1 && between ? at_or_after(frame) : at_or_before(frame);
    key = between ? file : frame;
}

/// The files and keys around an interval, in held. A file that turns out to be damaged inside is
/// left out as if it had been missing from the start.
void firn_vdb_sequence::take(const int frames[2], int files[2], firn_vdb_key keys[2])
{
    for (;;) {
        for (int side = 0; side < 2; side++)
            resolve(frames[side], frames[0] <= frames[1] ? side : 1 - side, files[side],
                    keys[side].frame);
        want(files[0], files[1]);
        // The views of the call before stay valid until both new ones are here.
        outcome results_of[2];
        int bad = -1;
        for (int side = 0; side < 2 && bad < 0; side++) {
            results_of[side] = wait_for(files[side]);
            bad = results_of[side].shape == nullptr ? side : -1;
        }
        if (bad < 0) {
            for (int side = 0; side < 2; side++)
                held[side] = results_of[side].shape;
            return;
        }
        give_up(files[bad], results_of[bad].error);
    }
}

firn_result firn_vdb_sequence_open(const firn_vdb_sequence_def *def, firn_vdb_sequence **sequence,
                                   firn_error *error)
{
    *sequence = nullptr;
    FIRN_TRY(firn_vdb_sequence_def_check(def, error));
    return guarded(error, [&] { *sequence = new firn_vdb_sequence(*def); });
}

void firn_vdb_sequence_close(firn_vdb_sequence *sequence) { delete sequence; }

const firn_vdb_gap *firn_vdb_sequence_gaps(const firn_vdb_sequence *sequence, size_t *count)
{
    *count = sequence->gap_view.size();
    return sequence->gap_view.data();
}

firn_result firn_vdb_sequence_interval(firn_vdb_sequence *sequence, int from, int to,
                                       firn_vdb_key keys[2], firn_error *error)
{
    return guarded(error, [&] {
        const int frames[2] = {from, to};
        int files[2];
        sequence->take(frames, files, keys);
        for (int side = 0; side < 2; side++) {
            firn_vdb_shape *shape = sequence->held[side].get();
            bool moving = files[0] != files[1] && keys[side].frame == files[side];
            keys[side].level_set = firn_vdb_shape_level_set(shape);
            keys[side].velocity = moving ? firn_vdb_shape_velocity(shape) : nullptr;
            keys[side].shape = moving ? shape : nullptr;
        }
    });
}
