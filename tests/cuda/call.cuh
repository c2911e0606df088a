// How the tests call a function of a source. In C++, since a fault leaves without a return,
// which frames of Python would not survive.
#pragma once

struct Arguments {
    void* function;
    int n;
    int count;
    void* arrays[3];
};

extern "C" int kata_call(void* self) {
    const Arguments* a = static_cast<const Arguments*>(self);
    using Two = int (*)(int, void*, void*);
    using Three = int (*)(int, void*, void*, void*);
    if (a->count == 2) return reinterpret_cast<Two>(a->function)(a->n, a->arrays[0], a->arrays[1]);
    return reinterpret_cast<Three>(a->function)(a->n, a->arrays[0], a->arrays[1], a->arrays[2]);
}
