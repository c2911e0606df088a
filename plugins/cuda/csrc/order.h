// What orders threads beyond the barriers of their block and the meetings of their warp: a thread
// publishes what it knows at a place in memory, and another finds it there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory.h"

namespace simt {

// How much of a thread's or a block's work was published, by when: to threads of the same block
// (after any fence), and to all (after __threadfence).
struct Published {
    uint32_t time, near, far;
};

// The last fences of the threads of a block, before a barrier. A thread that has passed it hands
// them on, as CUB does, though PTX asks for one more fence after it.
struct Fenced {
    uint32_t near = 0, far = 0;
};
using Fences = std::shared_ptr<const std::vector<Fenced>>;

// A place of which a thread has seen what was published there up to a time.
struct Learned {
    uint64_t place;
    uint32_t time;
};
using Knowledge = std::vector<Learned>;

inline void learn(Knowledge& to, const Learned& what) {
    for (Learned& known : to) {
        if (known.place != what.place) continue;
        known.time = std::max(known.time, what.time);
        return;
    }
    to.push_back(what);
}

// Everything that was published in a launch. Execution is one sequence of accesses with rising
// clocks, so what a reader has seen at a place is a time, and no copy.
class Chains {
  public:
    bool empty() const { return chains.empty(); }
    void clear() { chains.clear(); }
    bool has(uint64_t place) const { return chains.contains(place); }

    void publish(uint64_t place, uint32_t thread, const Published& what) { add(chains[place].threads[thread], what); }
    void publish_block(uint64_t place, uint32_t block, const Published& what) { add(chains[place].blocks[block], what); }

    void publish_fences(uint64_t place, uint32_t block, uint32_t time, const Fences& fences) {
        auto& held = chains[place].fences[block];
        if (held.empty() || held.back().second != fences) held.emplace_back(time, fences);
    }

    // The publisher knows more than its own work: a thread that sees the one knows the other.
    void publish(uint64_t place, uint32_t time, const Knowledge& knowledge) {
        for (const Learned& learned : knowledge) {
            if (learned.place != place) add(chains[place].others[learned.place], {time, learned.time, learned.time});
        }
    }

    // Whether someone who has `knowledge` knows of an access of the thread `id` of a block.
    bool covers(const Knowledge& knowledge, const Mark& mark, uint32_t block, uint32_t id, bool same_block) const {
        Knowledge open = knowledge;
        for (size_t next = 0; next < open.size(); ++next) {
            const Learned at = open[next];
            const auto found = chains.find(at.place);
            if (found == chains.end()) continue;
            const Chain& chain = found->second;
            for (const Published* entry : {last(chain.threads, mark.thread, at.time), last(chain.blocks, block, at.time)}) {
                if (entry && (same_block ? entry->near : entry->far) >= mark.clock) return true;
            }
            if (const auto held = chain.fences.find(block); held != chain.fences.end()) {
                for (const auto& [time, fences] : held->second) {
                    const Fenced& fence = (*fences)[id];
                    if (time <= at.time && (same_block ? fence.near : fence.far) >= mark.clock) return true;
                }
            }
            for (const auto& [place, entries] : chain.others) {
                const Published* entry = last(entries, at.time);
                if (!entry) continue;
                // By the name of a structured binding no lambda captures before clang 16.
                const auto known = std::find_if(open.begin(), open.end(), [place = place](const Learned& l) { return l.place == place; });
                if (known == open.end()) {
                    open.push_back({place, entry->near});
                } else if (known->time < entry->near) {
                    // Known of less before: what follows from more must be looked at again.
                    open.push_back({place, entry->near});
                    if (open.size() > 4096) return true;
                }
            }
        }
        return false;
    }

  private:
    using Entries = std::vector<Published>;
    struct Chain {
        std::unordered_map<uint32_t, Entries> threads, blocks;
        std::unordered_map<uint64_t, Entries> others;
        std::unordered_map<uint32_t, std::vector<std::pair<uint32_t, Fences>>> fences;
    };
    std::unordered_map<uint64_t, Chain> chains;

    static void add(Entries& entries, Published what) {
        if (!entries.empty()) {
            what.near = std::max(what.near, entries.back().near);
            what.far = std::max(what.far, entries.back().far);
        }
        entries.push_back(what);
    }

    static const Published* last(const Entries& entries, uint32_t time) {
        const auto after = std::upper_bound(entries.begin(), entries.end(), time,
                                            [](uint32_t t, const Published& entry) { return t < entry.time; });
        return after == entries.begin() ? nullptr : &*std::prev(after);
    }
    static const Published* last(const std::unordered_map<uint32_t, Entries>& all, uint32_t key, uint32_t time) {
        const auto found = all.find(key);
        return found == all.end() ? nullptr : last(found->second, time);
    }
};

}  // namespace simt
