//! A real Slurm cluster of four nodes on this machine, in a folder of its own: munged, slurmctld and four slurmd, which
//! end with the test.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A cluster that runs until dropped.
pub struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Cluster {
    /// Starts the daemons of Debian's packages and waits until the nodes are idle.
    pub fn start() -> Self {
        let mut cluster = Self { folder: tempfile::tempdir().unwrap(), daemons: Vec::new() };
        cluster.start_munge();
        cluster.write_configuration();
        for node in 1..=4 {
            std::fs::create_dir_all(cluster.path(&format!("tmp/n{node}"))).unwrap();
        }
        cluster.daemon("slurmctld", &["-D"]);
        for node in 1..=4 {
            cluster.daemon("slurmd", &["-D", "-N", &format!("n{node}")]);
        }
        let begun = Instant::now();
        while cluster.command("sinfo", &["--noheader", "--format=%t %D"]) != "idle 4" {
            assert!(begun.elapsed() < Duration::from_secs(60), "the nodes never became idle: {}", cluster.logs());
            std::thread::sleep(Duration::from_millis(100));
        }
        cluster
    }

    /// The configuration's file, for `SLURM_CONF`.
    pub fn configuration(&self) -> String {
        self.path("slurm.conf").display().to_string()
    }

    /// What one of Slurm's commands prints, trimmed; nothing where it fails.
    pub fn command(&self, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).env("SLURM_CONF", self.configuration()).output();
        String::from_utf8_lossy(&output.unwrap().stdout).trim().to_owned()
    }

    /// Waits until the queue is empty.
    pub fn wait_until_idle(&self) {
        let begun = Instant::now();
        while !self.command("squeue", &["--noheader"]).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(120), "{}", self.command("squeue", &[]));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn logs(&self) -> String {
        std::fs::read_to_string(self.path("log/ctld")).unwrap_or_default()
    }

    fn start_munge(&mut self) {
        use std::os::unix::fs::PermissionsExt;
        let folder = self.path("munge");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        // A key for nothing but this test; munged asks for at least 32 bytes.
        std::fs::write(folder.join("key"), [7_u8; 128]).unwrap();
        std::fs::set_permissions(folder.join("key"), std::fs::Permissions::from_mode(0o600)).unwrap();
        let file = |option: &str, name: &str| format!("--{option}={}", folder.join(name).display());
        let files = [
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        ];
        let mut arguments = vec!["--foreground".to_owned(), "--force".to_owned()];
        arguments.extend(files.map(|(option, name)| file(option, name)));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.daemon("munged", &arguments);
        let begun = Instant::now();
        while !folder.join("socket").exists() {
            assert!(begun.elapsed() < Duration::from_secs(30), "munged never began");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn write_configuration(&self) {
        // Ports that are free now.
        let listeners: Vec<TcpListener> = (0..5).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap().to_owned();
        let user = self.user();
        let d = self.folder.path().display();
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/munge\nAuthInfo=socket={d}/munge/socket\nStateSaveLocation={d}/state\nSlurmdSpoolDir={d}/spool-%n\n\
             SlurmctldPidFile={d}/ctld.pid\nSlurmdPidFile={d}/%n.pid\nSlurmctldLogFile={d}/log/ctld\nSlurmdLogFile={d}/log/%n\n\
             TmpFS={d}/tmp/%n\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nJobAcctGatherType=jobacct_gather/none\nSlurmdParameters=config_overrides\n\
             MpiDefault=none\nReturnToService=2\nKillWait=2\nSchedulerParameters=batch_sched_delay=0\n",
            ports[0]
        );
        for (node, port) in ports[1..].iter().enumerate() {
            text.push_str(&format!(
                "NodeName=n{} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=32\n",
                node + 1
            ));
        }
        text.push_str("PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
        for folder in ["state", "log"] {
            std::fs::create_dir(self.path(folder)).unwrap();
        }
        std::fs::write(self.path("slurm.conf"), text).unwrap();
    }

    fn user(&self) -> String {
        let output = Command::new("id").arg("-un").output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn daemon(&mut self, name: &str, arguments: &[&str]) {
        // Debian installs them where users do not look.
        let folders = ["/usr/sbin", "/usr/local/sbin"];
        let program = folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
        let program = program.unwrap_or_else(|| panic!("{name} is missing; `make setup` installs it"));
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.configuration());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().unwrap());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.command("scancel", &["--user", &self.user()]);
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
