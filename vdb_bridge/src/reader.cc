#include "data.hpp"
#include "helper.hpp"
#include "layout.h"
#include "settings.h"

#include "firn/file.h"

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

using namespace firn_vdb;

struct firn_vdb_reader {
    helper process;
};

namespace
{

struct descriptor {
    int number;

    ~descriptor()
    {
        if (number >= 0)
            close(number);
    }
};

/// An open file whose layout has been checked. It stays the same file when another takes its name.
class checked_file
{
  public:
    explicit checked_file(const char *path)
        : path_(path), open_{open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)}
    {
        require([&](firn_error *error) {
            return open_.number < 0 ? firn_fail_errno(error, errno, "read", path)
                                    : firn_vdb_layout_check(open_.number, path, nullptr, error);
        });
    }
    checked_file(const checked_file &) = delete;
    checked_file &operator=(const checked_file &) = delete;

    std::string location() const { return "/proc/self/fd/" + std::to_string(open_.number); }

    void require_stamp(const firn_vdb_stamp &expected) const
    {
        firn_vdb_stamp found;
        require([&](firn_error *error) {
            return firn_vdb_stamp_descriptor(open_.number, path_, &found, error);
        });
        if (found.size != expected.size || found.checksum != expected.checksum)
            fail(FIRN_ERR_FORMAT,
                 "'%s' is not as Firn wrote it: %llu bytes with checksum %016llx expected, %llu "
                 "bytes with checksum %016llx found; cook it again, or move it away from the "
                 "manifest.json beside it if it was changed on purpose",
                 path_, (unsigned long long)expected.size, (unsigned long long)expected.checksum,
                 (unsigned long long)found.size, (unsigned long long)found.checksum);
    }

  private:
    const char *path_;
    descriptor open_;
};

template <class Result>
std::unique_ptr<Result> obtain(firn_vdb_reader &reader, const request &wanted,
                               const firn_vdb_stamp *stamp)
{
    auto result = std::make_unique<Result>();
    checked_file file(wanted.path.c_str());
    if (stamp != nullptr) {
        file.require_stamp(*stamp);
        read_grids(wanted, file.location(), *result);
    } else {
        reader.process.read(wanted, *result);
    }
    validate(*result, wanted.path);
    return result;
}

} // namespace

firn_result firn_vdb_reader_create(const firn_vdb_reader_def *def, firn_vdb_reader **reader,
                                   firn_error *error)
{
    *reader = nullptr;
    FIRN_TRY(firn_vdb_reader_def_check(def, error));
    return guarded(error, [&] { *reader = new firn_vdb_reader{helper(*def)}; });
}

void firn_vdb_reader_destroy(firn_vdb_reader *reader) { delete reader; }

firn_result firn_vdb_list(firn_vdb_reader *reader, const char *path, const firn_vdb_stamp *stamp,
                          firn_vdb_listing **listing, firn_error *error)
{
    *listing = nullptr;
    return guarded(error, [&] {
        request wanted = {};
        wanted.path = path;
        auto result = obtain<firn_vdb_listing>(*reader, wanted, stamp);
        result->link();
        *listing = result.release();
    });
}

firn_vdb_listing_view firn_vdb_listing_read(const firn_vdb_listing *listing)
{
    return {listing->bytes, listing->grid_view.size(), listing->grid_view.data(),
            listing->meta_view.size(), listing->meta_view.data()};
}

void firn_vdb_listing_destroy(firn_vdb_listing *listing) { delete listing; }

firn_result firn_vdb_read_shape(firn_vdb_reader *reader, const char *path,
                                const firn_vdb_stamp *stamp, const firn_vdb_shape_def *def,
                                firn_vdb_shape **shape, firn_error *error)
{
    *shape = nullptr;
    FIRN_TRY(firn_vdb_shape_def_check(def, error));
    return guarded(error, [&] {
        request wanted = {};
        wanted.path = path;
        wanted.grid = def->grid != nullptr ? def->grid : "";
        wanted.velocity_grid = def->velocity_grid != nullptr ? def->velocity_grid : "";
        wanted.region = def->region;
        wanted.velocity = def->velocity;
        wanted.threshold = def->threshold;
        wanted.half_width = def->half_width;
        auto result = obtain<firn_vdb_shape>(*reader, wanted, stamp);
        result->link();
        *shape = result.release();
    });
}

firn_result firn_vdb_read_velocity(firn_vdb_reader *reader, const char *path,
                                   const firn_vdb_stamp *stamp, const char *grid,
                                   firn_vdb_shape **shape, firn_error *error)
{
    *shape = nullptr;
    return guarded(error, [&] {
        request wanted = {};
        wanted.path = path;
        wanted.velocity_grid = grid != nullptr ? grid : "";
        wanted.region = REGION_NONE;
        wanted.velocity = true;
        auto result = obtain<firn_vdb_shape>(*reader, wanted, stamp);
        result->link();
        *shape = result.release();
    });
}

const firn_level_set *firn_vdb_shape_level_set(const firn_vdb_shape *shape)
{
    return &shape->surface_view;
}

const firn_velocity_grid *firn_vdb_shape_velocity(const firn_vdb_shape *shape)
{
    return shape->velocity_view.leaf_count > 0 ? &shape->velocity_view : nullptr;
}

const char *firn_vdb_shape_warning(const firn_vdb_shape *shape) { return shape->warning.c_str(); }

void firn_vdb_shape_destroy(firn_vdb_shape *shape) { delete shape; }

firn_result firn_vdb_read_volume(firn_vdb_reader *reader, const char *path,
                                 const firn_vdb_stamp *stamp, const char *grid,
                                 firn_vdb_volume **volume, firn_error *error)
{
    *volume = nullptr;
    return guarded(error, [&] {
        request wanted = {};
        wanted.path = path;
        wanted.grid = grid != nullptr ? grid : "";
        *volume = obtain<firn_vdb_volume>(*reader, wanted, stamp).release();
    });
}

firn_vdb_volume_view firn_vdb_volume_read(const firn_vdb_volume *volume)
{
    firn_vdb_volume_view view = {};
    view.field.voxel_size = volume->map.scale;
    view.field.leaf_count = volume->origins.size();
    view.field.leaf_origin = volume->origins.data();
    view.field.mask = volume->mask.data();
    view.field.density = volume->density.data();
    view.field.velocity = volume->velocity.size() > 0 ? volume->velocity.data() : nullptr;
    view.field.velocity_mask =
        volume->velocity_mask.size() > 0 ? volume->velocity_mask.data() : nullptr;
    view.field.compaction = volume->compaction.size() > 0 ? volume->compaction.data() : nullptr;
    view.map = volume->map;
    view.aligned = volume->aligned;
    view.reference_density = volume->reference_density;
    return view;
}

void firn_vdb_volume_destroy(firn_vdb_volume *volume) { delete volume; }

firn_result firn_vdb_read_points(firn_vdb_reader *reader, const char *path,
                                 const firn_vdb_stamp *stamp, const char *grid,
                                 firn_vdb_cloud **cloud, firn_error *error)
{
    *cloud = nullptr;
    return guarded(error, [&] {
        request wanted = {};
        wanted.path = path;
        wanted.grid = grid != nullptr ? grid : "";
        auto result = obtain<firn_vdb_cloud>(*reader, wanted, stamp);
        result->link();
        *cloud = result.release();
    });
}

firn_vdb_points firn_vdb_cloud_read(const firn_vdb_cloud *cloud)
{
    return {cloud->positions.size(), cloud->positions.data(), cloud->attribute_view.size(),
            cloud->attribute_view.data()};
}

void firn_vdb_cloud_destroy(firn_vdb_cloud *cloud) { delete cloud; }
