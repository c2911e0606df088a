// What a run consists of: threads, blocks, launches, streams, what a test asks for, and all of that as the
// one `machine`. Nothing here does anything.
#pragma once

#define SIMT_SIMULATOR
#include "simt.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <array>
#include <cstdarg>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "counts.h"
#include "fiber.h"
#include "lines.h"
#include "memory.h"
#include "order.h"

// The linker's names for the section that SIMT_DEVICE puts variables into, if there is any.
extern "C" char __start_simt_device[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_simt_device[] __attribute__((weak, visibility("hidden")));

// Constants, as kernels know them; side by side, for `touch` to pass them by.
#define SIMT_INDEX __attribute__((section("simt_index")))
SIMT_INDEX uint3 threadIdx{}, blockIdx{};
SIMT_INDEX dim3 blockDim, gridDim;
extern "C" char __start_simt_index[] __attribute__((visibility("hidden")));
extern "C" char __stop_simt_index[] __attribute__((visibility("hidden")));

namespace simt {
namespace {

// Kept out of the functions that every access goes through, which stay short.
#define SIMT_RARE __attribute__((noinline, cold))

constexpr unsigned MOST_Z = 64, MOST_GRID_YZ = 65535;
constexpr size_t MOST_SHARED = 48 << 10;
constexpr size_t HOST_STACK = 2;  // times STACK
// How many threads and blocks a multiprocessor has room for.
constexpr unsigned MOST_THREADS = 2048, MOST_RESIDENT = 32;
constexpr size_t SHARED_ROOM = 1 << 20, SHARED_GAP = 256;

// Spin: it repeats an atomic operation that changes nothing, and lets others run. Poll: it waits
// until `ready` says so.
enum class State : uint8_t { Ready, Barrier, Warp, Spin, Poll, Grid, Done };

// How far a thread's fence reaches: its own clock, its block's last barrier, its warp's lanes.
struct Fence {
    uint32_t clock = 0, barrier = 0;
    std::array<uint32_t, LANES> known{};
};

// A load of what others change by atomic operations. It is no race if all the thread does with the value
// is to compare it, in an operation that changes nothing if it is old: so CUDA's guide makes atomic
// operations that the device lacks.
struct Doubt {
    Region* region = nullptr;
    uintptr_t address = 0;
    char value[4] = {};
    Mark mark;
    uint32_t place = 0;
};
constexpr size_t MOST_DOUBTS = 8;

// What a register of a thread holds, by the access that it comes from; `key` has the place of that, and
// whether it is a store.
struct Held {
    uint32_t key;
    uint32_t batch, number;  // in the counts
    uintptr_t low, high;
};
constexpr size_t MOST_HELD = 16;

struct Thread {
    Context context;
    char* low = nullptr;
    State state = State::Ready;
    uint32_t id = 0;  // in the block
    uint3 index{};
    uint32_t place = 0;  // where it waits
    Warp operation{};
    Reduce reduce{};
    bool is_signed = false;
    unsigned mask = 0;
    uint64_t value = 0, result = 0;
    int argument = 0, width = 32;
    bool active = false;  // has loaded or stored anything that outlives its block
    // The clocks up to which it knows what the lanes of its warp have done.
    std::array<uint32_t, LANES> known{};
    bool met = false;  // whether `known` has anything
    Knowledge learned;
    Fence near, far;
    std::array<Doubt, MOST_DOUBTS> doubts;
    uint32_t doubted = 0, loads = 0;
    std::array<Held, MOST_HELD> held;
    uint32_t holds = 0;
    bool (*ready)(void*) = nullptr;
    void* waits_for = nullptr;
    const char* waits_in = "";
    // What it gives to a call of its warp.
    void* given = nullptr;
    void (*made)(void* const*) = nullptr;
    // The atomic operation before, to know one that is repeated.
    uintptr_t spun_at = 0;
    uint32_t spun_place = 0, spins = 0, polls = 0;
    uint64_t spun_value = 0;

    unsigned lane() const { return id % LANES; }
};

// A launch and its counts.
struct Launch {
    std::string kernel;
    dim3 grid, block;
    uint64_t barriers = 0, warp_operations = 0;
    // Those that load or store global memory, and those that store to it.
    uint64_t active_threads = 0, storing_blocks = 0;
    uint64_t stream = 0;
    // Shared memory of a block, and the names of its variables.
    size_t dynamic_bytes = 0, static_bytes = 0;
    std::set<std::string> variables;
    std::map<Key, Count> lines;
};

// What a test asks for: the stream of the caller, the device, the order of blocks and threads
// (-1: another at each call), the launch to refuse (1 is the first), and instead of what a launch
// says so many blocks and threads along x.
struct Wanted {
    uint64_t stream = 0;
    int processors = 8;
    unsigned most_threads = 1024;
    int order = -1;
    unsigned refused = 0, grid = 0, block = 0;
};

// A variable at file scope; `initial` is what every run begins with.
struct Watched {
    Where where;
    void* address;
    Variable about;
    std::vector<char> initial;
};
std::vector<Watched>& variables() {
    static std::vector<Watched> all;
    return all;
}

// Dynamic shared memory that is declared at file scope, where its address must be known.
constexpr size_t MOST_DYNAMIC = 227 << 10;
char* file_dynamic() {
    static char* memory = static_cast<char*>(std::aligned_alloc(1024, MOST_DYNAMIC + 2048));
    return memory + 1024;
}
const char* file_dynamic_name = nullptr;
unsigned file_dynamic_element = 1;
bool file_dynamic_wide = false;

// Several lanes of a warp store to one place: no race if the value is the same, which is known
// when the second store has been made. In a trial, what to put back when a load has been made.
struct Same {
    unsigned bytes = 0;
    bool restore = false;
    uintptr_t address = 0;
    char value[16];
    Region* region = nullptr;
    Mark mark;
    uint32_t place = 0;
};

// In a copy of the process: where to it reports, the read that is a fault, by line, address and the
// thread that writes there, and what the read finds there.
struct Trial {
    int pipe = -1, filler = 0;
    uint32_t place = 0, writer = 0;
    uintptr_t address = 0;
    bool found = false;
};

// What is known of a place in the code: the statement that it belongs to, and the buffers that it has read
// and written last in a launch, and whether it has others before.
struct Site {
    struct Last {
        uint32_t launch = 0;
        uint32_t region : 31 = 0;
        uint32_t others : 1 = 0;
    };
    uint64_t statement = 0;
    Last read, write;
    Last& of(Kind kind) { return kind == Kind::Read ? read : write; }
};
constexpr uint64_t NO_STATEMENT = ~uint64_t{0};
std::vector<const char*>& statements() {
    static std::vector<const char*> all;
    return all;
}

// In a copy of the process: the place of an access past the end of some buffer, and where to report the
// buffer that other threads access there.
struct Probe {
    int pipe = -1;
    uint32_t place = 0;
    Kind kind = Kind::Read;
};

// In the place of an access: the variable is volatile.
constexpr uint32_t VOLATILE = 1u << 31;

// Threads of several warps that wait for each other, but not for their block.
struct Tile {
    unsigned arrived = 0;
    uint32_t generation = 0;
};

// A copy that has begun.
struct Copy {
    Thread* thread;
    uint32_t batch;
    const void* owner;
    char* to;
    const char* from;
    size_t bytes, zeros;
    unsigned step;
    const void* pc;
};

// A block that is set aside: its threads wait while another block runs.
struct Block {
    uint64_t number = 0;
    uint3 index{};
    std::vector<Thread> threads;
    std::vector<uint32_t> warps, lanes;
    uint32_t first = 0, serial = 0, barrier_clock = 0;
    Knowledge learned;
    Fences fences;
    // Since the last barrier.
    bool fenced = false;
    bool stored = false, finished = false;
    size_t static_bytes = 0;
    std::set<const void*> declared;
    std::map<std::pair<unsigned, unsigned>, Tile> tiles;
    std::vector<Copy> copies;
    std::map<std::pair<const Thread*, const void*>, uint32_t> batches;
    std::map<const void*, unsigned> counts;
    std::map<unsigned, std::array<char, 64>> board;
    struct Shared {
        std::vector<char> bytes;
        Cell* cells;
        uint32_t* written;
    };
    std::map<Region*, Shared> shared;
};

// A stream of the source's own: its number (0 is the caller's), whether it waits for the caller's, and
// whether the default stream and it wait for each other.
struct Stream {
    uint32_t id;
    bool waits, blocking;
};

// For each stream, the number of its last piece of work that is done before one begins.
using Done = std::map<uint32_t, uint32_t>;
void merge(Done& into, const Done& from) {
    for (const auto& [stream, number] : from) into[stream] = std::max(into[stream], number);
}

// A kernel, or a copy that counts as one thread. The first of the threads tells whose an access is.
struct Work {
    uint32_t first_thread, stream, number;
    std::string what;
};

// What streams do, once the source has one of its own.
struct Streams {
    uint32_t last_id = 0;
    std::vector<Work> works;
    std::map<uint32_t, Done> done;
    std::map<const void*, Done> events;
    Done host;
};

struct Machine {
    std::mutex mutex;
    Regions regions;
    Stacks stacks;
    Counter counter;
    std::vector<Launch> launches;
    Context base, host, scheduler;
    std::string problem, pending, counts_text;
    std::string addr2line;
    std::mt19937_64 random;
    unsigned mode = 0;
    cudaError_t error = cudaSuccess;
    size_t dynamic_limit = MOST_SHARED;
    Wanted wanted;
    unsigned attempts = 0;
    bool refused = false;
    // Whether all threads must come to each barrier, and no lane that has left be in a mask.
    bool strict = false, strict_masks = false;
    int asked = -1, habit = 0;
    std::vector<Stream*> streams;
    Streams order;
    std::vector<double*> events;
    std::map<const void*, bool> event_waits;

    // Where a function was called last that accesses memory for its caller.
    const void* called = nullptr;

    // The launch, the block and the thread that run.
    const char* kernel = nullptr;
    Config config{dim3(), dim3()};
    bool cooperative = false;
    Block block;
    Thread* me = nullptr;
    bool on_host = false;
    char* host_low = nullptr;
    uint32_t launch_first = 1, next_thread = 1, block_first = 1, block_size = 1;
    // Counts the launches of all runs.
    uint32_t serial = 0;
    uint32_t clock = 0, block_serial = 0, last_serial = 0;
    // The clocks of the last barriers: of the block, and of the grid.
    uint32_t barrier_clock = 0, grid_clock = 0;
    Same same;
    Trial trial;
    Probe probe;
    // What an atomic operation that compares expects to find.
    const void* compare = nullptr;
    // The blocks of the launch, in their order, and which of them runs.
    std::vector<uint32_t> numbers;
    size_t position = 0;
    // Blocks of it that wait for others, each with its part of the stacks.
    std::vector<std::pair<Block, size_t>> aside;
    size_t room = 1;
    Region* dynamic = nullptr;
    // Shared memory: 256 bytes that no thread may touch lie between two variables.
    std::vector<char> shared_memory = std::vector<char>(2 * SHARED_ROOM);
    size_t shared_used = 0;
    uint32_t runs = 0;
    void (*run)(void*) = nullptr;
    void* arguments = nullptr;
    Chains chains;
    std::vector<Region*> file_shared;

    int (*thunk)(void*) = nullptr;
    void* closure = nullptr;
    int status = 0;

    double seconds = 5.0;
    volatile sig_atomic_t late = 0;
    pthread_t runner{};
};

Machine machine;
uintptr_t image_low = 0, image_high = 0;
// The part of it that is code, and what is known of each place there.
uintptr_t code_low = 0, code_high = 0;
Site* sites = nullptr;

}  // namespace
}  // namespace simt

using simt::machine;
