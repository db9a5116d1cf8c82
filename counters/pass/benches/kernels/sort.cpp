// The standard library's sort and hash map: templates, unpredictable branches.
#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <vector>
int main() {
    std::vector<unsigned> values(2000000);
    unsigned x = 1;
    for (auto &value : values) value = (x = x * 1664525u + 1013904223u) >> 3;
    std::sort(values.begin(), values.end(), [](unsigned a, unsigned b) { return a % 1000003 < b % 1000003; });
    std::unordered_map<unsigned, unsigned> counts;
    for (auto value : values) counts[value % 50021]++;
    unsigned most = 0;
    for (auto &[key, count] : counts) most = std::max(most, count);
    std::printf("%u %u\n", values[1000], most);
}
