/* Many children, timed one by one: what a kernel needs for the n-th process.
 *
 * It is compiled when first needed, dynamically and statically linked, so that the size of the
 * tool that asks is not part of the answer.
 *
 *   processes MODE COUNT     MODE is fork, vfork or spawn
 *
 * It says "ready", waits for a byte, and then prints what two readings of the clock cost, one
 * line per child (nanoseconds until the child's byte arrived, nanoseconds to end and reap it), and
 * "end", or "error" with a reason after the lines of the children that there were. The children
 * wait for the end of a pipe that only the first process holds open, so none outlives it. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  long long x = *(const long long *)a, y = *(const long long *)b;
  return (x > y) - (x < y);
}

static long long timer_cost(void) {
  enum { READINGS = 1001 };
  static long long cost[READINGS];
  for (int i = 0; i < READINGS; i++) {
    long long start = now();
    cost[i] = now() - start;
  }
  qsort(cost, READINGS, sizeof cost[0], ascending);
  return cost[READINGS / 2];
}

/* A child: says its byte, then waits for the end. */
static void be_a_child(int note, int hold, int holder) {
  char byte = '!';
  if (write(note, &byte, 1) != 1) _exit(1);
  close(note);
  if (holder >= 0) close(holder);
  while (read(hold, &byte, 1) < 0 && errno == EINTR) {}
  _exit(0);
}

int main(int argc, char **argv) {
  int note[2], hold[2];
  if (argc == 4 && !strcmp(argv[1], "child"))
    be_a_child(atoi(argv[2]), atoi(argv[3]), -1);
  if (argc != 3) return 2;
  int count = atoi(argv[2]);
  int exec = strcmp(argv[1], "fork") != 0, vforks = !strcmp(argv[1], "vfork");
  long long *born = calloc(count, sizeof *born), *reaped = calloc(count, sizeof *reaped);
  pid_t *pid = calloc(count, sizeof *pid);
  if (!born || !reaped || !pid || pipe(note) || pipe(hold)) return 3;
  /* Touched now, so that no page fault of ours falls into the timed part. */
  memset(born, 1, count * sizeof *born);
  memset(reaped, 1, count * sizeof *reaped);
  memset(pid, 1, count * sizeof *pid);

  char note_text[16], hold_text[16], byte;
  snprintf(note_text, sizeof note_text, "%d", note[1]);
  snprintf(hold_text, sizeof hold_text, "%d", hold[0]);
  char *child[] = {argv[0], "child", note_text, hold_text, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, hold[1]);

  puts("ready");
  fflush(stdout);
  if (read(0, &byte, 1) != 1) return 4;
  printf("timer %lld\n", timer_cost());
  fflush(stdout);

  int made = 0, error = 0;
  for (; made < count && !error; made++) {
    long long start = now();
    if (!exec) {
      pid[made] = fork();
      if (pid[made] == 0) be_a_child(note[1], hold[0], hold[1]);
    } else if (vforks) {
      pid[made] = vfork();
      if (pid[made] == 0) {
        close(hold[1]);
        execve(argv[0], child, environ);
        _exit(127);
      }
    } else if ((errno = posix_spawn(&pid[made], argv[0], &actions, NULL, child, environ))) {
      pid[made] = -1;
    }
    if (pid[made] < 0 || read(note[0], &byte, 1) != 1) {
      error = errno ? errno : EIO;
      break;
    }
    born[made] = now() - start;
  }
  for (int i = 0; i < made; i++) {
    long long start = now();
    kill(pid[i], SIGTERM);
    waitpid(pid[i], NULL, 0);
    reaped[i] = now() - start;
  }
  for (int i = 0; i < made; i++) printf("%lld %lld\n", born[i], reaped[i]);
  if (error) printf("error %s\n", strerror(error));
  else puts("end");
  return 0;
}
