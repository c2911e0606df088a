// Where in the source a call of the sanitizer stands: line and column, by the line table that compilers
// leave in the library (DWARF 2 to 4), and the statement around them, by what statements.py has found.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

// A file in memory, as long as it is looked at.
class Mapped {
  public:
    explicit Mapped(const char* name) {
        const int file = open(name, O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        struct stat about{};
        if (fstat(file, &about) == 0 && about.st_size > 0) {
            void* found = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
            if (found != MAP_FAILED) text = {static_cast<const char*>(found), static_cast<size_t>(about.st_size)};
        }
        close(file);
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    ~Mapped() {
        if (!text.empty()) munmap(const_cast<char*>(text.data()), text.size());
    }

    std::string_view text;
};

// Reads numbers from bytes; past the end all are 0.
class Bytes {
  public:
    explicit Bytes(std::string_view text) : left(text) {}

    bool empty() const { return left.empty(); }

    template <class T>
    T number() {
        T found{};
        if (left.size() < sizeof found) {
            left = {};
            return found;
        }
        std::memcpy(&found, left.data(), sizeof found);
        left.remove_prefix(sizeof found);
        return found;
    }
    uint64_t unsigned_leb() { return leb(false); }
    int64_t signed_leb() { return static_cast<int64_t>(leb(true)); }
    std::string_view string() {
        const size_t end = left.find('\0');
        const std::string_view found = left.substr(0, end);
        left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
        return found;
    }
    Bytes part(uint64_t size) {
        const std::string_view found = left.substr(0, size);
        left.remove_prefix(found.size());
        return Bytes(found);
    }

  private:
    std::string_view left;

    uint64_t leb(bool is_signed) {
        uint64_t found = 0;
        unsigned shift = 0;
        uint8_t byte = 0;
        do {
            byte = number<uint8_t>();
            if (shift < 64) found |= uint64_t{byte & 0x7fu} << shift;
            shift += 7;
        } while (byte & 0x80 && !left.empty());
        if (is_signed && byte & 0x40 && shift < 64) found |= ~uint64_t{0} << shift;
        return found;
    }
};

class Lines {
  public:
    // Reads the library `file`, whose code lies between two addresses of it.
    void read(const char* file, uint64_t from, uint64_t to) {
        low = from;
        high = to;
        const Mapped mapped(file);
        Bytes table(section(mapped.text, ".debug_line"));
        while (!table.empty()) read_unit(table);
        std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
            return a.address != b.address ? a.address < b.address : !a.at.line && b.at.line;
        });
    }

    // What the source says of statements that are no whole lines: ``k.cu``, and then ``3:5-4:20`` in each line.
    void statements(const std::string& text) {
        std::vector<Span>* spans = nullptr;
        for (size_t at = 0; at < text.size();) {
            const size_t end = std::min(text.find('\n', at), text.size());
            const std::string word = text.substr(at, end - at);
            Span span;
            if (std::sscanf(word.c_str(), "%u:%u-%u:%u", &span.first.line, &span.first.column, &span.last.line, &span.last.column) == 4) {
                if (spans) spans->push_back(span);
            } else {
                spans = &known[word];
            }
            at = end + 1;
        }
    }

    // The same number for all calls of a statement, or 0 where nothing is known.
    uint64_t statement(uint64_t place) const {
        const auto after = std::upper_bound(rows.begin(), rows.end(), place,
                                            [](uint64_t at, const Row& row) { return at < row.address; });
        if (after == rows.begin() || !std::prev(after)->at.line) return 0;
        const Row& row = *std::prev(after);
        const Place begin = begin_of(files[row.file], row.at);
        return uint64_t{row.file} << 48 | uint64_t{begin.line} << 16 | (begin.column & 0xffff);
    }

  private:
    struct Place {
        unsigned line = 0, column = 0;
        auto operator<=>(const Place&) const = default;
    };
    struct Span {
        Place first, last;
    };
    struct Row {
        uint64_t address;
        uint32_t file;
        Place at;  // line 0: what begins here belongs to no line
    };
    std::vector<Row> rows;
    std::vector<std::string> files;
    std::map<std::string, std::vector<Span>> known;
    uint64_t low = 0, high = 0;

    static std::string_view section(std::string_view text, const char* name) {
        Elf64_Ehdr head{};
        if (text.size() < sizeof head) return {};
        std::memcpy(&head, text.data(), sizeof head);
        const auto header = [&](size_t number) {
            Elf64_Shdr found{};
            const size_t at = head.e_shoff + number * sizeof found;
            if (at + sizeof found <= text.size()) std::memcpy(&found, text.data() + at, sizeof found);
            return found;
        };
        const std::string_view names = text.substr(std::min<size_t>(header(head.e_shstrndx).sh_offset, text.size()));
        for (size_t number = 0; number < head.e_shnum; ++number) {
            const Elf64_Shdr found = header(number);
            if (found.sh_flags & SHF_COMPRESSED || found.sh_name >= names.size()) continue;
            if (names.substr(found.sh_name, std::strlen(name) + 1) != std::string_view(name, std::strlen(name) + 1)) continue;
            return text.substr(std::min<size_t>(found.sh_offset, text.size()), found.sh_size);
        }
        return {};
    }

    // Where the statement begins; a whole line has column 0.
    Place begin_of(const std::string& file, const Place& at) const {
        for (const auto& [shown, spans] : known) {
            const size_t before = file.size() - shown.size();
            if (!file.ends_with(shown) || (before && file[before - 1] != '/')) continue;
            for (const auto& [first, last] : spans) {
                if (first <= at && at <= last) return first;
            }
        }
        return {at.line, 0};
    }

    uint32_t number_of(std::string_view folder, std::string_view name) {
        std::string path(name);
        if (!folder.empty() && !name.starts_with('/')) path = std::string(folder) + "/" + path;
        const auto found = std::find(files.begin(), files.end(), path);
        if (found == files.end()) return files.push_back(path), static_cast<uint32_t>(files.size() - 1);
        return static_cast<uint32_t>(found - files.begin());
    }

    void read_unit(Bytes& table) {
        uint64_t size = table.number<uint32_t>();
        const bool wide = size == 0xffffffffu;
        if (wide) size = table.number<uint64_t>();
        Bytes unit = table.part(size);
        const auto version = unit.number<uint16_t>();
        if (version < 2 || version > 4) return;
        Bytes head = unit.part(wide ? unit.number<uint64_t>() : unit.number<uint32_t>());
        const auto step = head.number<uint8_t>();
        if (version == 4) head.number<uint8_t>();
        head.number<uint8_t>();
        const auto line_base = head.number<int8_t>();
        const auto line_range = std::max<uint8_t>(head.number<uint8_t>(), 1);
        const auto opcode_base = head.number<uint8_t>();
        std::vector<uint8_t> operands(opcode_base);
        for (unsigned code = 1; code < opcode_base; ++code) operands[code] = head.number<uint8_t>();
        std::vector<std::string_view> folders{""};
        for (auto name = head.string(); !name.empty(); name = head.string()) folders.push_back(name);
        std::vector<uint32_t> numbers{0};
        const auto add_file = [&](Bytes& from, std::string_view name) {
            const uint64_t folder = from.unsigned_leb();
            from.unsigned_leb();
            from.unsigned_leb();
            numbers.push_back(number_of(folder < folders.size() ? folders[folder] : "", name));
        };
        for (auto name = head.string(); !name.empty(); name = head.string()) add_file(head, name);
        uint64_t address = 0, file = 1, line = 1, column = 0;
        size_t first = rows.size();
        const auto row = [&](bool ends) {
            const uint32_t number = file < numbers.size() ? numbers[file] : 0;
            rows.push_back({address, number, {ends ? 0 : static_cast<unsigned>(line), static_cast<unsigned>(column)}});
        };
        while (!unit.empty()) {
            const auto code = unit.number<uint8_t>();
            if (code >= opcode_base) {
                address += uint64_t{static_cast<unsigned>(code - opcode_base) / line_range} * step;
                line += static_cast<uint64_t>(line_base + (code - opcode_base) % line_range);
                row(false);
            } else if (code == 0) {
                Bytes more = unit.part(unit.unsigned_leb());
                const auto what = more.number<uint8_t>();
                if (what == 1) {
                    row(true);
                    // A function that the linker has left out is said to lie elsewhere.
                    if (rows[first].address < low || rows[first].address >= high) rows.resize(first);
                    first = rows.size();
                    address = 0, file = 1, line = 1, column = 0;
                } else if (what == 2) {
                    address = more.number<uint64_t>();
                } else if (what == 3) {
                    add_file(more, more.string());
                }
            } else if (code == 1) {
                row(false);
            } else if (code == 2) {
                address += unit.unsigned_leb() * step;
            } else if (code == 3) {
                line += static_cast<uint64_t>(unit.signed_leb());
            } else if (code == 4) {
                file = unit.unsigned_leb();
            } else if (code == 5) {
                column = unit.unsigned_leb();
            } else if (code == 8) {
                address += uint64_t{(255u - opcode_base) / line_range} * step;
            } else if (code == 9) {
                address += unit.number<uint16_t>();
            } else {
                for (unsigned left = operands[code]; left; --left) unit.unsigned_leb();
            }
        }
        rows.resize(first);
    }
};

}  // namespace simt
