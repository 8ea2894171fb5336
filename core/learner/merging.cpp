#include "learner/merging.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "base/parts.hpp"
#include "base/workers.hpp"
#include "learner/learner.hpp"

namespace unitless {
namespace {

constexpr std::size_t block_size = 512;  // slots that are merged at once, so that they stay in the cache

// Takes the locks of one learner that is written and of others that are read, all at once. It holds none while it waits
// for one, so that threads that take several locks cannot deadlock.
class AllLocks {
  public:
    AllLocks(Lock& written, std::vector<Lock*> read) {
        std::erase(read, &written);
        std::sort(read.begin(), read.end());
        read.erase(std::unique(read.begin(), read.end()), read.end());
        for (;;) {
            written_ = std::unique_lock(written);
            Lock* busy = nullptr;
            for (auto next = read.begin(); next != read.end() && !busy; ++next) {
                read_.emplace_back(**next, std::try_to_lock);
                if (!read_.back()) busy = *next;
            }
            if (!busy) return;
            read_.clear();
            written_.unlock();
            const std::shared_lock wait(*busy);
        }
    }

  private:
    std::unique_lock<Lock> written_;
    std::vector<std::shared_lock<Lock>> read_;
};

}  // namespace

void Learner::read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
                   SlotBlock& to) const {
    const std::shared_lock guard(lock_);
    const std::size_t known = lane_count();
    if (std::any_of(lanes.begin(), lanes.end(), [&](std::uint32_t lane) { return lane >= known; }))
        return;  // rates were dropped since the merge was planned; the result will not be loaded
    if (can_.slots) can_.slots->read(slots, count, lanes, to);
}

std::size_t Learner::slot_width(std::size_t lanes) const { return setup_.engine.average ? 2 * lanes : lanes; }

std::size_t Learner::lane_count() const {
    EngineState now;
    engine_->save(0, now);
    return now.lanes.size();
}

bool Learner::load_merged(const Snapshot& from, const std::vector<MergedPart>& parts, const Merging& how,
                          const std::function<void()>& loaded) {
    std::vector<Lock*> locks;
    for (const MergedPart& part : parts) locks.push_back(&part.learner->lock_);
    const AllLocks held(lock_, std::move(locks));
    for (const MergedPart& part : parts) {
        const Clock& clock = part.learner->engine_->clock();
        if (clock.t != part.t || clock.examples != part.examples || part.learner->lane_count() != part.lane_count)
            return false;
        if (!part.learner->can_.slots)
            throw InputError("curves and trees are not merged slot by slot", "merge snapshots instead");
    }
    load(from, [&](Engine& engine, std::size_t slots) { fill(engine, slots, from.engine.lanes.size(), parts, how); });
    loaded();
    return true;
}

void Learner::fill(Engine& engine, std::size_t slots, std::size_t lanes, const std::vector<MergedPart>& parts,
                   const Merging& how) {
    SlotAccess& written = *engine.capabilities().slots;
    const std::size_t width = engine.averages() ? 2 * lanes : lanes;
    const std::size_t blocks = (slots + block_size - 1) / block_size;
    const std::size_t pieces = std::min<std::size_t>(blocks, 4 * workers().count());
    struct Scratch {
        std::vector<SlotBlock> from;
        SlotBlock to;
        std::vector<std::uint32_t> own;
        std::size_t features = 0;
        bool sound = true;
    };
    const SlotBlock empty(std::min(block_size, slots), lanes, width);
    std::vector<Scratch> scratches(
        pieces, Scratch{std::vector<SlotBlock>(parts.size(), empty), empty, std::vector<std::uint32_t>(block_size)});
    in_parts(workers(), pieces, [&](std::size_t piece) {
        Scratch& scratch = scratches[piece];
        for (std::size_t block = piece * blocks / pieces; block < (piece + 1) * blocks / pieces; ++block) {
            const std::size_t first = block * block_size, count = std::min(block_size, slots - first);
            for (std::size_t p = 0; p < parts.size(); ++p) {
                const MergedPart& part = parts[p];
                for (std::size_t k = 0; k < count; ++k) scratch.own[k] = part.own_slot(first + k);
                part.learner->can_.slots->read(scratch.own.data(), count, part.lanes, scratch.from[p]);
                const std::uint32_t* const end = part.moved + part.moved_count;
                for (auto moved = std::lower_bound(part.moved, end, first); moved != end && *moved < first + count;
                     ++moved)
                    for (std::size_t j = 0; j < width; ++j)
                        scratch.from[p].values[(*moved - first) * width + j] +=
                            part.by[static_cast<std::size_t>(moved - part.moved) * width + j];
            }
            combine(how, scratch.from, count, scratch.to);
            for (std::size_t k = 0; k < count; ++k) {
                scratch.features += scratch.to.scale[k] > 0;
                scratch.sound = scratch.sound && scratch.to.scale[k] <= __DBL_MAX__;
            }
            written.write(first, count, scratch.to);
        }
    });
    std::size_t features = 0;
    for (const Scratch& scratch : scratches) {
        if (!scratch.sound) throw InputError("the scales of a feature add up to more than a float64 can hold");
        features += scratch.features;
    }
    written.written(features);
}

}  // namespace unitless
