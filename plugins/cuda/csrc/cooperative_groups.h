// Cooperative groups on the host: threads of a block, a tile, a branch or a grid that act together.
//
// A group is the mask of its lanes in their warp, or the range of its threads in their block; every
// call is one of simt.h's, for the caller's line, so it waits, orders memory and is reported as
// __syncwarp, __syncthreads and the shuffles are.
#pragma once
#include "simt.h"

namespace cooperative_groups {

namespace details {

constexpr unsigned LANES = 32;
enum class Type : uint8_t { Thread, Coalesced, Tile, Block, Grid };

inline unsigned lane() { return simt::thread_rank() % LANES; }
inline unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }

// 4 or 8 bytes are moved at a time; a value may have up to 32.
template <class T>
SIMT_PLAIN T shuffled(simt::Warp operation, unsigned mask, const T& value, int argument, int width, const void* here) {
    static_assert(sizeof(T) <= 32, "a shuffle moves up to 32 bytes");
    T found;
    const auto* from = reinterpret_cast<const char*>(&value);
    auto* to = reinterpret_cast<char*>(&found);
    for (size_t at = 0; at < sizeof(T); at += 8) {
        uint64_t part = 0;
        const size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
        __builtin_memcpy(&part, from + at, bytes);
        part = simt::warp(operation, mask, part, argument, width, simt::Reduce::Add, false, here);
        __builtin_memcpy(to + at, &part, bytes);
    }
    return found;
}

SIMT_PLAIN inline uint64_t voted(simt::Warp operation, unsigned mask, uint64_t value, const void* here) {
    return simt::warp(operation, mask, value, 0, 32, simt::Reduce::Add, false, here);
}

}  // namespace details

// The base of all: what a function that takes any group gets.
class thread_group {
  public:
    SIMT_PLAIN void sync() const { meet(SIMT_HERE); }
    SIMT_PLAIN unsigned long long size() const { return count; }
    SIMT_PLAIN unsigned long long num_threads() const { return count; }
    SIMT_PLAIN unsigned long long thread_rank() const { return rank; }
    SIMT_PLAIN bool is_valid() const { return true; }
    SIMT_PLAIN unsigned get_type() const { return static_cast<unsigned>(type); }

    // For the functions of this header.
    details::Type type = details::Type::Thread;
    unsigned mask = 0;   // of a group within a warp
    unsigned first = 0;  // the first thread of a group within a block
    unsigned long long count = 1, rank = 0;

    SIMT_PLAIN void meet(const void* here) const {
        if (type == details::Type::Grid) return simt::grid_sync(here);
        if (type == details::Type::Block) return static_cast<void>(simt::block_sync(0, here));
        if (type == details::Type::Thread) return;
        if (count > details::LANES) return simt::tile_sync(first, static_cast<unsigned>(count), here);
        simt::warp(simt::Warp::Sync, mask, 0, 0, 32, simt::Reduce::Add, false, here);
    }
};

class thread_block : public thread_group {
  public:
    SIMT_PLAIN thread_block() {
        type = details::Type::Block;
        count = details::block_threads();
        rank = simt::thread_rank();
    }
    SIMT_PLAIN static void sync() { simt::block_sync(0, SIMT_HERE); }
    SIMT_PLAIN static unsigned thread_rank() { return simt::thread_rank(); }
    SIMT_PLAIN static unsigned size() { return details::block_threads(); }
    SIMT_PLAIN static unsigned num_threads() { return details::block_threads(); }
    SIMT_PLAIN static dim3 group_index() { return dim3(blockIdx); }
    SIMT_PLAIN static dim3 thread_index() { return dim3(threadIdx); }
    SIMT_PLAIN static dim3 group_dim() { return blockDim; }
    SIMT_PLAIN static dim3 dim_threads() { return blockDim; }
};
SIMT_PLAIN inline thread_block this_thread_block() { return {}; }

// What tiles of several warps exchange values through on a GPU, in the block's shared memory.
template <unsigned MaxBlockSize = 1024>
struct alignas(8) block_tile_memory {
    char bytes[(MaxBlockSize + 31) / 32 * 16];
};
template <unsigned MaxBlockSize>
SIMT_PLAIN thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
    return {};
}

class grid_group : public thread_group {
  public:
    SIMT_PLAIN grid_group() {
        type = details::Type::Grid;
        count = static_cast<unsigned long long>(num_blocks()) * details::block_threads();
        rank = block_rank() * details::block_threads() + simt::thread_rank();
    }
    SIMT_PLAIN void sync() const { simt::grid_sync(SIMT_HERE); }
    SIMT_PLAIN bool is_valid() const { return simt::cooperative(); }
    SIMT_PLAIN static unsigned long long num_blocks() { return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z; }
    SIMT_PLAIN static unsigned long long block_rank() {
        return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    SIMT_PLAIN static dim3 block_index() { return dim3(blockIdx); }
    SIMT_PLAIN static dim3 group_dim() { return gridDim; }
    SIMT_PLAIN static dim3 dim_blocks() { return gridDim; }
};
SIMT_PLAIN inline grid_group this_grid() { return {}; }

SIMT_PLAIN inline thread_group this_thread() { return {}; }

// The lanes that came to the same line together, counted from 0.
class coalesced_group : public thread_group {
  public:
    SIMT_PLAIN explicit coalesced_group(unsigned lanes, unsigned long long group = 0, unsigned long long groups = 1)
        : group_(group), groups_(groups) {
        type = details::Type::Coalesced;
        mask = lanes;
        count = static_cast<unsigned long long>(__builtin_popcount(lanes));
        rank = static_cast<unsigned long long>(__builtin_popcount(lanes & ((1u << details::lane()) - 1)));
    }
    SIMT_PLAIN unsigned long long meta_group_rank() const { return group_; }
    SIMT_PLAIN unsigned long long meta_group_size() const { return groups_; }

    template <class T>
    SIMT_PLAIN T shfl(T value, unsigned source) const {
        return details::shuffled(simt::Warp::Index, mask, value, lane_of(source % static_cast<unsigned>(count)), 32, SIMT_HERE);
    }
    template <class T>
    SIMT_PLAIN T shfl_down(T value, unsigned delta) const {
        const unsigned source = static_cast<unsigned>(rank) + delta;
        return details::shuffled(simt::Warp::Index, mask, value, lane_of(source < count ? source : static_cast<unsigned>(rank)), 32, SIMT_HERE);
    }
    template <class T>
    SIMT_PLAIN T shfl_up(T value, unsigned delta) const {
        const unsigned own = static_cast<unsigned>(rank);
        return details::shuffled(simt::Warp::Index, mask, value, lane_of(own >= delta ? own - delta : own), 32, SIMT_HERE);
    }
    SIMT_PLAIN int any(int predicate) const { return details::voted(simt::Warp::Any, mask, predicate != 0, SIMT_HERE) != 0; }
    SIMT_PLAIN int all(int predicate) const { return details::voted(simt::Warp::All, mask, predicate != 0, SIMT_HERE) != 0; }
    SIMT_PLAIN unsigned ballot(int predicate) const {
        return packed(static_cast<unsigned>(details::voted(simt::Warp::Ballot, mask, predicate != 0, SIMT_HERE)));
    }
    template <class T>
    SIMT_PLAIN unsigned match_any(T value) const {
        return packed(static_cast<unsigned>(details::voted(simt::Warp::Match, mask, simt::bits(value), SIMT_HERE)));
    }
    SIMT_PLAIN int lane_of(unsigned wanted) const {
        unsigned left = mask;
        while (wanted--) left &= left - 1;
        return __builtin_ctz(left);
    }

  private:
    unsigned long long group_, groups_;

    // The bits of the group's lanes, side by side.
    SIMT_PLAIN unsigned packed(unsigned bits) const {
        unsigned found = 0, at = 0;
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (mask >> lane & 1u) found |= (bits >> lane & 1u) << at++;
        }
        return found;
    }
};
SIMT_PLAIN inline coalesced_group coalesced_threads() {
    return coalesced_group(static_cast<unsigned>(details::voted(simt::Warp::Active, 0, 0, SIMT_HERE)));
}

// Size threads of a group that follow each other; the size is a power of two.
template <unsigned Size, class ParentT = void>
class thread_block_tile : public thread_group {
    static_assert(Size && Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads, at most 1024");

  public:
    SIMT_PLAIN thread_block_tile() {
        const unsigned id = simt::thread_rank();
        type = details::Type::Tile;
        count = Size;
        rank = id % Size;
        first = id / Size * Size;
        if constexpr (Size < 32) mask = ((1u << (Size % 32)) - 1) << (first % 32);
        if constexpr (Size >= 32) mask = 0xffffffffu;
    }
    template <class Other>
    SIMT_PLAIN thread_block_tile(const thread_block_tile<Size, Other>&) : thread_block_tile() {}
    SIMT_PLAIN static constexpr unsigned size() { return Size; }
    SIMT_PLAIN static constexpr unsigned num_threads() { return Size; }
    SIMT_PLAIN static unsigned thread_rank() { return simt::thread_rank() % Size; }
    SIMT_PLAIN static unsigned meta_group_rank() {
        if constexpr (parent_size()) return simt::thread_rank() % parent_size() / Size;
        return simt::thread_rank() / Size;
    }
    SIMT_PLAIN static unsigned meta_group_size() {
        if constexpr (parent_size()) return parent_size() / Size;
        return (details::block_threads() + Size - 1) / Size;
    }

    template <class T>
    SIMT_PLAIN T shfl(T value, int source) const { return moved(simt::Warp::Index, value, source, SIMT_HERE); }
    template <class T>
    SIMT_PLAIN T shfl_down(T value, unsigned delta) const { return moved(simt::Warp::Down, value, static_cast<int>(delta), SIMT_HERE); }
    template <class T>
    SIMT_PLAIN T shfl_up(T value, unsigned delta) const { return moved(simt::Warp::Up, value, static_cast<int>(delta), SIMT_HERE); }
    template <class T>
    SIMT_PLAIN T shfl_xor(T value, unsigned lanes) const { return moved(simt::Warp::Xor, value, static_cast<int>(lanes), SIMT_HERE); }
    SIMT_PLAIN int any(int predicate) const { return vote(simt::Warp::Any, predicate != 0, SIMT_HERE) != 0; }
    SIMT_PLAIN int all(int predicate) const { return vote(simt::Warp::All, predicate != 0, SIMT_HERE) != 0; }
    SIMT_PLAIN unsigned ballot(int predicate) const {
        return static_cast<unsigned>(vote(simt::Warp::Ballot, predicate != 0, SIMT_HERE)) >> (first % 32);
    }
    template <class T>
    SIMT_PLAIN unsigned match_any(T value) const {
        return static_cast<unsigned>(vote(simt::Warp::Match, simt::bits(value), SIMT_HERE)) >> (first % 32);
    }
    template <class T>
    SIMT_PLAIN unsigned match_all(T value, int& same) const {
        const unsigned found = match_any(value);
        same = found == mask >> (first % 32);
        return same ? found : 0u;
    }

  private:
    template <class P>
    struct SizeOf {
        static constexpr unsigned value = 0;
    };
    template <unsigned N, class P>
    struct SizeOf<thread_block_tile<N, P>> {
        static constexpr unsigned value = N;
    };
    static constexpr unsigned parent_size() { return SizeOf<ParentT>::value; }

    template <class T>
    SIMT_PLAIN T moved(simt::Warp operation, const T& value, int argument, const void* here) const {
        static_assert(Size <= 32, "a tile of several warps has no shuffles");
        return details::shuffled(operation, mask, value, argument, static_cast<int>(Size), here);
    }
    SIMT_PLAIN uint64_t vote(simt::Warp operation, uint64_t value, const void* here) const {
        static_assert(Size <= 32, "a tile of several warps has no votes");
        return details::voted(operation, mask, value, here);
    }
};

template <unsigned Size, class Parent>
SIMT_PLAIN thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
    return {};
}
// The size is known when the kernel runs: the tile has no shuffles.
SIMT_PLAIN inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
    thread_group tile;
    const auto base = static_cast<unsigned>(parent.rank / size * size);
    tile.type = details::Type::Tile;
    tile.count = std::min<unsigned long long>(size, parent.count - base);
    tile.rank = parent.rank % size;
    tile.first = simt::thread_rank() - static_cast<unsigned>(tile.rank);
    if (parent.type == details::Type::Coalesced) {
        unsigned left = parent.mask;
        for (unsigned i = 0; i < base; ++i) left &= left - 1;
        for (unsigned i = 0; i < tile.count; ++i, left &= left - 1) tile.mask |= left & -left;
    } else if (size <= 32) {
        tile.mask = static_cast<unsigned>(((1ull << size) - 1) << (tile.first % 32));
    }
    return tile;
}

// The threads of a group that give the same label, or the same truth.
template <class Group, class T>
SIMT_PLAIN coalesced_group labeled_partition(const Group& group, T label) {
    const auto lanes = static_cast<unsigned>(details::voted(simt::Warp::Match, group.mask, simt::bits(label), SIMT_HERE));
    return coalesced_group(lanes);
}
template <class Group>
SIMT_PLAIN coalesced_group binary_partition(const Group& group, bool predicate) {
    const auto yes = static_cast<unsigned>(details::voted(simt::Warp::Ballot, group.mask, predicate, SIMT_HERE));
    return coalesced_group(predicate ? yes : group.mask & ~yes, predicate, 2);
}

template <class Group>
SIMT_PLAIN void sync(const Group& group) {
    group.meet(SIMT_HERE);
}
template <class Group>
SIMT_PLAIN unsigned long long thread_rank(const Group& group) {
    return group.rank;
}
template <class Group>
SIMT_PLAIN unsigned long long group_size(const Group& group) {
    return group.count;
}
template <class Group, class Function, class... Args>
void invoke_one(const Group& group, Function&& function, Args&&... args) {
    if (group.rank == 0) std::forward<Function>(function)(std::forward<Args>(args)...);
}

}  // namespace cooperative_groups
