// Short-range forces on particles in cells: small inlined functions, conditionals in inner loops.
#include <cmath>
#include <cstdio>
#include <vector>
struct Vector {
    double x, y, z;
    Vector operator-(const Vector &o) const { return {x - o.x, y - o.y, z - o.z}; }
    Vector &operator+=(const Vector &o) { x += o.x, y += o.y, z += o.z; return *this; }
    Vector operator*(double f) const { return {x * f, y * f, z * f}; }
    double square() const { return x * x + y * y + z * z; }
};
struct Cell { std::vector<Vector> place, force; };
__attribute__((noinline)) void interact(Cell &a, const Cell &b) {
    for (size_t i = 0; i < a.place.size(); i++)
        for (size_t j = 0; j < b.place.size(); j++) {
            Vector d = a.place[i] - b.place[j];
            double r2 = d.square();
            if (r2 > 1 || r2 == 0) continue;
            double s = 1 / r2, s6 = s * s * s;
            a.force[i] += d * (s6 * (s6 - 0.5) * 1e-9);
        }
}
int main() {
    const int side = 8;
    std::vector<Cell> cells(side * side * side);
    unsigned x = 1;
    auto next = [&x] { return ((x = x * 1664525u + 1013904223u) >> 8) / double(1 << 24); };
    for (int c = 0; c < side * side * side; c++)
        for (int k = 0; k < 20; k++) {
            cells[c].place.push_back({c % side + next(), c / side % side + next(), c / side / side + next()});
            cells[c].force.push_back({});
        }
    for (int step = 0; step < 12; step++)
        for (int c = 0; c < side * side * side; c++)
            for (int dz = -1; dz <= 1; dz++)
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++) {
                        int px = c % side + dx, py = c / side % side + dy, pz = c / side / side + dz;
                        if (px < 0 || py < 0 || pz < 0 || px >= side || py >= side || pz >= side) continue;
                        interact(cells[c], cells[px + side * (py + side * pz)]);
                    }
    double sum = 0;
    for (auto &cell : cells) for (auto &force : cell.force) sum += std::sqrt(force.square());
    std::printf("%.6g\n", sum);
}
