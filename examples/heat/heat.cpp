// Heat flow on a square plate, an example of an MPI program to study: every rank owns n rows of n cells, so the work of
// a rank grows with n^2 and does not depend on the number of ranks.
//
// Usage: mpirun -n P ./heat N

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

constexpr int steps = 20;

// The compiler would put these functions into their callers; apart, each has a model of its own.
#define APART __attribute__((noinline))

// n + 2 rows of n + 2 cells: the rank's own cells with one cell of border all around.
class Plate {
public:
    explicit Plate(int n) : width_(n + 2), cells_(static_cast<std::size_t>(width_) * width_, 0.0) {}
    double &at(int row, int column) { return cells_[static_cast<std::size_t>(row) * width_ + column]; }
    double at(int row, int column) const { return cells_[static_cast<std::size_t>(row) * width_ + column]; }
    double *row(int row) { return &at(row, 1); }

private:
    int width_;
    std::vector<double> cells_;
};

// Gives the neighbours our outermost rows and takes theirs.
APART void exchange_borders(Plate &plate, int n, int above, int below) {
    MPI_Sendrecv(plate.row(1), n, MPI_DOUBLE, above, 0, plate.row(n + 1), n, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(plate.row(n), n, MPI_DOUBLE, below, 1, plate.row(0), n, MPI_DOUBLE, above, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

// One step of Jacobi's method; returns this rank's largest change.
APART double relax(const Plate &old, Plate &fresh, int n) {
    double change = 0.0;
    for (int row = 1; row <= n; ++row)
        for (int column = 1; column <= n; ++column) {
            fresh.at(row, column) = 0.25 * (old.at(row - 1, column) + old.at(row + 1, column) +
                                            old.at(row, column - 1) + old.at(row, column + 1));
            change = std::max(change, std::abs(fresh.at(row, column) - old.at(row, column)));
        }
    return change;
}

double largest_over_ranks(double value) {
    double largest = 0.0;
    MPI_Allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

APART double solve(int n, int rank, int ranks) {
    Plate plate(n), next(n);
    if (rank == 0)
        for (int column = 1; column <= n; ++column)
            plate.at(0, column) = next.at(0, column) = 100.0;
    const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    const int below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    double change = 0.0;
    for (int step = 0; step < steps; ++step) {
        exchange_borders(plate, n, above, below);
        change = largest_over_ranks(relax(plate, next, n));
        std::swap(plate, next);
    }
    return change;
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = argc == 2 ? std::atoi(argv[1]) : 0;
    int status = EXIT_SUCCESS;
    if (n > 0) {
        const double change = solve(n, rank, ranks);
        if (rank == 0)
            std::printf("largest change in the last of %d steps: %g\n", steps, change);
    } else {
        status = EXIT_FAILURE;
        if (rank == 0)
            std::fprintf(stderr, "usage: heat N, N being the rows of each rank\n");
    }
    MPI_Finalize();
    return status;
}
