// The work of a GPU's memory system: the accesses of the 32 lanes of a warp are laid side by side,
// and one load or store of all lanes is one request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "memory.h"

namespace simt {

constexpr unsigned LANES = 32;
// A lane that has logged so many accesses waits for the others, to keep the logs small.
constexpr uint32_t LOG = 2048;

struct Access {
    uintptr_t address;
    uint32_t place;
    uint8_t bytes;
    Kind kind;
    Space space;
};

// The accesses of one line of the source, in one space, of one kind. Sectors have 32 bytes;
// wavefronts are the passes that shared memory needs if lanes access different words of one bank.
struct Count {
    uint64_t accesses = 0, requests = 0, sectors = 0, wavefronts = 0, excess = 0, partial = 0;

    void add(const Count& other) {
        accesses += other.accesses;
        requests += other.requests;
        sectors += other.sectors;
        wavefronts += other.wavefronts;
        excess += other.excess;
        partial += other.partial;
    }
};

struct Key {
    uint32_t place;
    Space space;
    Kind kind;
    auto operator<=>(const Key&) const = default;
};

class Counter {
  public:
    std::map<Key, Count> lines;

    void begin(unsigned lane) {
        logs[lane].clear();
        batches += 1;
    }

    // Returns the counts and begins anew; `last` must not outlive the lines.
    std::map<Key, Count> take() {
        last = nullptr;
        return std::exchange(lines, {});
    }

    // Returns whether the lane must wait.
    bool log(unsigned lane, const Access& access) {
        logs[lane].push_back(access);
        return logs[lane].size() >= LOG;
    }

    // The number of the next access of a lane, and of those that are counted together with it.
    uint32_t next(unsigned lane) const { return static_cast<uint32_t>(logs[lane].size()); }
    uint32_t batch() const { return batches; }

    // Lets an access of a lane reach from `start` to `end`, unless it has been counted.
    void widen(unsigned lane, uint32_t batch, uint32_t number, uintptr_t start, uintptr_t end) {
        if (batch != batches || number >= logs[lane].size()) return;
        Access& access = logs[lane][number];
        end = std::max(end, access.address + access.bytes);
        access.address = std::min(access.address, start);
        access.bytes = static_cast<uint8_t>(end - access.address);
    }

    // Counts the accesses of a warp since the last call, in which `alive` lanes could take part.
    void flush(unsigned alive) {
        if (aligned()) {
            columns(alive);
        } else {
            sorted(alive);
        }
        for (auto& log : logs) log.clear();
        batches += 1;
    }

  private:
    std::vector<Access> logs[LANES];
    uint32_t batches = 0;
    const Access* column[LANES] = {};
    Key last_key{};
    Count* last = nullptr;

    // Whether all lanes with accesses have those of the same lines, in the same order.
    bool aligned() const {
        const std::vector<Access>* first = nullptr;
        for (const auto& log : logs) {
            if (log.empty()) continue;
            if (!first) {
                first = &log;
            } else if (log.size() != first->size()) {
                return false;
            }
        }
        if (!first) return true;
        for (const auto& log : logs) {
            for (size_t i = 0; i < log.size(); ++i) {
                if (log[i].place != (*first)[i].place) return false;
            }
        }
        return true;
    }

    void columns(unsigned alive) {
        size_t length = 0;
        for (const auto& log : logs) length = std::max(length, log.size());
        for (size_t i = 0; i < length; ++i) {
            unsigned active = 0;
            for (const auto& log : logs) {
                if (!log.empty()) column[active++] = &log[i];
            }
            request(active, alive);
        }
    }

    // Lanes went different ways: the nth access of each to a line makes one request.
    void sorted(unsigned alive) {
        struct Item {
            uint32_t place, turn;
            const Access* access;
        };
        std::vector<Item> items;
        std::map<uint32_t, uint32_t> turns;
        for (const auto& log : logs) {
            turns.clear();
            for (const auto& access : log) {
                items.push_back({access.place, turns[access.place]++, &access});
            }
        }
        std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
            return a.place != b.place ? a.place < b.place : a.turn < b.turn;
        });
        for (size_t i = 0; i < items.size();) {
            unsigned active = 0;
            const Item& first = items[i];
            while (i < items.size() && items[i].place == first.place && items[i].turn == first.turn) {
                column[active++] = items[i++].access;
            }
            request(active, alive);
        }
    }

    void request(unsigned active, unsigned alive) {
        const Access& first = *column[0];
        const Key key{first.place, first.space, first.kind};
        if (!last || key != last_key) {
            last = &lines[key];
            last_key = key;
        }
        last->accesses += active;
        last->requests += 1;
        last->partial += active < alive;
        if (first.space == Space::Shared) {
            banks(active, first.bytes);
        } else {
            last->sectors += sectors(active);
        }
    }

    uint64_t sectors(unsigned active) {
        uintptr_t seen[2 * LANES];
        unsigned count = 0;
        for (unsigned i = 0; i < active; ++i) {
            const uintptr_t from = column[i]->address / 32;
            const uintptr_t to = (column[i]->address + column[i]->bytes - 1) / 32;
            // Neighbours mostly share a sector, so the last one is compared first.
            for (uintptr_t sector = from; sector <= to; ++sector) {
                if (count && seen[count - 1] == sector) continue;
                if (std::find(seen, seen + count, sector) == seen + count) seen[count++] = sector;
            }
        }
        return count;
    }

    // 32 banks of 4 bytes; 8 bytes are moved by half a warp at a time, 16 by a quarter.
    void banks(unsigned active, unsigned bytes) {
        const unsigned words = std::max(1u, bytes / 4), group = LANES / words;
        for (unsigned start = 0; start < active; start += group) {
            const unsigned end = std::min(active, start + group);
            uintptr_t word_of[LANES][LANES];
            unsigned used[LANES] = {};
            unsigned deepest = 0;
            for (unsigned i = start; i < end; ++i) {
                for (unsigned w = 0; w < words; ++w) {
                    const uintptr_t word = column[i]->address / 4 + w;
                    const unsigned bank = word % LANES;
                    uintptr_t* in_bank = word_of[bank];
                    if (std::find(in_bank, in_bank + used[bank], word) == in_bank + used[bank]) {
                        in_bank[used[bank]++] = word;
                        deepest = std::max(deepest, used[bank]);
                    }
                }
            }
            last->wavefronts += deepest;
            last->excess += deepest - 1;
        }
    }
};

}  // namespace simt
