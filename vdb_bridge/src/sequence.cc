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
    outcome read(int frame);
    void read_ahead();
    std::shared_ptr<firn_vdb_shape> wait_for(int frame);
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
    for (const gap &g : gaps)
        gap_view.push_back({g.frame, g.error.code, g.error.message});
    bool fatal = def.missing == FIRN_VDB_MISSING_ERROR || present.empty();
    if (fatal && !gaps.empty())
        fail(gaps[0].error.code,
             "%zu of the %d files of '%.200s' cannot be used (frames %s); make them again, or have "
             "the sequence hold or interpolate; the first: %s",
             gaps.size(), def.last - def.first + 1, def.pattern, list_frames(gaps).c_str(),
             gaps[0].error.message);
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

std::shared_ptr<firn_vdb_shape> firn_vdb_sequence::wait_for(int frame)
{
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return results.find(frame) != results.end(); });
    const outcome &result = results[frame];
    if (result.shape == nullptr)
        throw failure{result.error};
    return result.shape;
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
        int files[2], frames[2] = {from, to};
        for (int side = 0; side < 2; side++)
            sequence->resolve(frames[side], from <= to ? side : 1 - side, files[side],
                              keys[side].frame);
        sequence->want(files[0], files[1]);
        // The views of the call before stay valid until both new ones are here.
        std::shared_ptr<firn_vdb_shape> shapes[2];
        for (int side = 0; side < 2; side++)
            shapes[side] = sequence->wait_for(files[side]);
        for (int side = 0; side < 2; side++) {
            sequence->held[side] = shapes[side];
            firn_vdb_shape *shape = shapes[side].get();
            bool moving = files[0] != files[1] && keys[side].frame == files[side];
            keys[side].level_set = firn_vdb_shape_level_set(shape);
            keys[side].velocity = moving ? firn_vdb_shape_velocity(shape) : nullptr;
            keys[side].shape = moving ? shape : nullptr;
        }
    });
}
