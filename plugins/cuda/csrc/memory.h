// The memory that a kernel may touch, and the last accesses to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "simt.h"

namespace simt {

enum class Space : uint8_t { Global, Shared, Arguments };
// In `written`: a copy that no thread has waited for will write the granule.
constexpr uint32_t IN_FLIGHT = 0xffffffffu;

// In must not be written; Out has no values until it is written, and must be written whole.
enum class Mode : uint8_t { In, Out, InOut, Scratch };

// An access: `thread` counts the threads of all launches from 1, `clock` all accesses. `lanes` are
// those of the same warp that have written the same value.
struct Mark {
    uint32_t thread = 0;
    uint32_t lanes = 0;
    uint32_t clock = 0;
    uint32_t place = 0;
};

// The last write, the last atomic operation since, and the last reads by two different threads.
struct Cell {
    Mark write, atomic, read, other;
};

struct Region {
    uintptr_t low = 0, high = 0;
    uint32_t id = 0;  // from 1
    Space space = Space::Global;
    Mode mode = Mode::InOut;
    // Whether the host may touch it, whether it is a variable of the source, and whether it holds structures
    // that are copied by 8 bytes.
    bool managed = false, variable = false, wide = false;
    // The launch that is given it as such structures.
    unsigned wide_launch = 0;
    std::string name;
    unsigned element = 4;
    unsigned rank = 1;
    size_t extents[3] = {};
    unsigned shift = 2;
    Cell* cells = nullptr;
    // Per granule: the block that wrote it, or for global memory whether it was written.
    uint32_t* written = nullptr;
    // What an output held before, where some stores are not seen.
    std::vector<char> before;

    size_t granules() const { return ((high - low) >> shift) + 1; }

    // Cells of 4, 2 or 1 bytes that divide an element: two elements never share one.
    void watch() {
        shift = element % 4 == 0 ? 2 : element % 2 == 0 ? 1 : 0;
        cells = static_cast<Cell*>(std::calloc(granules(), sizeof(Cell)));
        written = static_cast<uint32_t*>(std::calloc(granules(), sizeof(uint32_t)));
        if (!cells || !written) std::abort();
    }

    void forget() {
        std::free(cells);
        std::free(written);
        cells = nullptr;
        written = nullptr;
    }

    // ``tile[3][4]``: the element at `address`, which may be outside.
    std::string element_at(uintptr_t address) const {
        const auto distance = static_cast<int64_t>(address - low);
        int64_t index = distance / static_cast<int64_t>(element);
        if (distance < 0 && distance % static_cast<int64_t>(element)) --index;
        if (rank < 2 || index < 0 || address >= high) return name + "[" + std::to_string(index) + "]";
        std::string text;
        for (int dim = static_cast<int>(rank) - 1; dim >= 0; --dim) {
            const auto extent = static_cast<int64_t>(extents[dim]);
            text = "[" + std::to_string(dim ? index % extent : index) + "]" + text;
            if (dim) index /= extent;
        }
        return name + text;
    }

    std::string size_text() const {
        const size_t count = (high - low) / element;
        return std::to_string(count) + (count == 1 ? " element of " : " elements of ") + std::to_string(element) + " bytes";
    }
};

// The regions of a run; `find` tries the two that it found last first.
class Regions {
  public:
    std::vector<Region*> all;

    Region* find(uintptr_t address) {
        for (Region* region : recent) {
            if (region && address - region->low < region->high - region->low) return region;
        }
        for (Region* region : all) {
            if (address - region->low < region->high - region->low) {
                recent[1] = recent[0];
                recent[0] = region;
                return region;
            }
        }
        return nullptr;
    }

    Region* of(uint32_t id) const {
        const auto found = std::find_if(all.begin(), all.end(), [&](const Region* region) { return region->id == id; });
        return found == all.end() ? nullptr : *found;
    }

    // The region that `address` misses by the fewest bytes, and by less than a megabyte, of those given or all.
    Region* nearest(uintptr_t address, const std::vector<Region*>& given) const {
        Region* found = nullptr;
        uint64_t best = 1 << 20;
        for (Region* region : given.empty() ? all : given) {
            if (region->space == Space::Arguments) continue;
            const uint64_t far = address < region->low ? region->low - address : address - region->high;
            if (far < best) {
                best = far;
                found = region;
            }
        }
        return found;
    }

    Region* add(Region region) {
        region.id = ++last_id;
        all.push_back(new Region(std::move(region)));
        return all.back();
    }

    void remove(Region* region) {
        recent[0] = recent[1] = nullptr;
        std::erase(all, region);
        region->forget();
        delete region;
    }

    void clear() {
        while (!all.empty()) remove(all.back());
    }

  private:
    Region* recent[2] = {};
    uint32_t last_id = 0;
};

}  // namespace simt
