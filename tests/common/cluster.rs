//! A real Slurm cluster of four nodes on this machine, in a folder of its own: munged, slurmctld and four slurmd, and with
//! accounts also slurmdbd and MariaDB. All of them end with the test.

// Each test file is a crate of its own and uses a part of this.
#![allow(dead_code)]

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A cluster that runs until dropped.
pub struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
    /// Which of them is slurmctld.
    controller: usize,
    has_accounts: bool,
}

impl Cluster {
    /// Starts the daemons of Debian's packages and waits until the nodes are idle. Nothing keeps accounts.
    pub fn start() -> Self {
        Self::start_with(false)
    }

    /// The same with a database of what became of jobs. The controller itself forgets a job two seconds after its end,
    /// and a job that uses more memory than it has asked for is killed.
    pub fn start_with_accounts() -> Self {
        Self::start_with(true)
    }

    fn start_with(has_accounts: bool) -> Self {
        let mut cluster =
            Self { folder: tempfile::tempdir().unwrap(), daemons: Vec::new(), controller: 0, has_accounts };
        cluster.start_munge();
        cluster.write_configuration();
        if has_accounts {
            cluster.start_database();
        }
        for node in 1..=4 {
            std::fs::create_dir_all(cluster.path(&format!("tmp/n{node}"))).unwrap();
        }
        cluster.start_controller();
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

    /// Whether what became of jobs is kept.
    pub fn has_accounts(&self) -> bool {
        self.has_accounts
    }

    /// What one of Slurm's commands prints, trimmed; nothing where it fails.
    pub fn command(&self, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).env("SLURM_CONF", self.configuration()).output();
        String::from_utf8_lossy(&output.unwrap().stdout).trim().to_owned()
    }

    /// From now on a job or an array of at most two tasks is taken only while this file is there, and removes it: a policy of
    /// the site's, as Slurm asks it of a script. Until `allow_submissions` is called.
    pub fn limit_submissions(&self) -> PathBuf {
        std::fs::write(self.path("limited"), "").unwrap();
        self.path("room")
    }

    /// While the file is there, sbatch is told to try again later, as by a controller that has too much to do.
    pub fn be_busy(&self) -> PathBuf {
        let busy = self.path("busy");
        std::fs::write(&busy, "").unwrap();
        busy
    }

    /// All jobs are taken again.
    pub fn allow_submissions(&self) {
        std::fs::remove_file(self.path("limited")).unwrap();
    }

    /// Ends the controller as an administrator would.
    pub fn stop_controller(&mut self) {
        let mut controller = self.daemons.remove(self.controller);
        let id = controller.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        controller.wait().unwrap();
    }

    /// Starts it again.
    pub fn start_controller(&mut self) {
        self.controller = self.daemons.len();
        self.daemon("slurmctld", &["-D"]);
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
        let log = |name: &str| std::fs::read_to_string(self.path(name)).unwrap_or_default();
        log("log/ctld") + &log("log/dbd")
    }

    fn start_munge(&mut self) {
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

    /// MariaDB in a folder and at a socket of its own, without users or network, and slurmdbd before it.
    fn start_database(&mut self) {
        let (data, socket) = (self.path("database"), self.path("database.socket"));
        std::fs::create_dir(&data).unwrap();
        let user = self.user();
        let options = [
            "--no-defaults".to_owned(),
            format!("--user={user}"),
            format!("--datadir={}", data.display()),
            format!("--socket={}", socket.display()),
            format!("--pid-file={}", self.path("database.pid").display()),
            "--skip-networking".into(),
            "--skip-grant-tables".into(),
            "--innodb-log-file-size=4M".into(),
            "--innodb-flush-log-at-trx-commit=0".into(),
        ];
        self.daemon("mariadbd", &options.iter().map(String::as_str).collect::<Vec<_>>());
        self.wait_for("MariaDB", |_| socket.exists());
        self.daemon("slurmdbd", &["-D"]);
        self.wait_for("slurmdbd", |cluster| {
            let asked = ["--noheader", "show", "cluster"];
            let answer = Command::new("sacctmgr").args(asked).env("SLURM_CONF", cluster.configuration()).output();
            answer.unwrap().status.success()
        });
    }

    fn wait_for(&self, what: &str, is_there: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_there(self) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what} never began: {}", self.logs());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn write_configuration(&self) {
        // Ports that are free now.
        let listeners: Vec<TcpListener> = (0..6).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
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
             SlurmdParameters=config_overrides\n\
             MaxArraySize=4\nJobSubmitPlugins=lua\nMpiDefault=none\nReturnToService=2\nKillWait=2\nSchedulerParameters=batch_sched_delay=0\n",
            ports[0]
        );
        text.push_str(&if self.has_accounts {
            format!(
                "SelectTypeParameters=CR_CPU_Memory\nJobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n\
                 JobAcctGatherParams=OverMemoryKill\nMinJobAge=2\nAccountingStorageType=accounting_storage/slurmdbd\n\
                 AccountingStorageHost=127.0.0.1\nAccountingStoragePort={}\nAccountingStoragePass={d}/munge/socket\n",
                ports[5]
            )
        } else {
            "SelectTypeParameters=CR_CPU\nJobAcctGatherType=jobacct_gather/none\n".to_owned()
        });
        for (node, port) in ports[1..5].iter().enumerate() {
            text.push_str(&format!(
                "NodeName=n{} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=32 RealMemory=4000\n",
                node + 1
            ));
        }
        text.push_str("PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
        for folder in ["state", "log"] {
            std::fs::create_dir(self.path(folder)).unwrap();
        }
        std::fs::write(self.path("slurm.conf"), text).unwrap();
        // 2050 is Slurm's number of the error that its own submit limits end with, 11 is EAGAIN.
        let script = format!(
            "function slurm_job_submit(job, partition, user)\n\
             local busy = io.open('{d}/busy')\n\
             if busy then busy:close() return 11 end\n\
             local limited = io.open('{d}/limited')\n\
             if not limited then return slurm.SUCCESS end\n\
             limited:close()\n\
             local last = tonumber(string.match(job.array_inx or '', '-(%d+)')) or 0\n\
             if last <= 1 and os.remove('{d}/room') then return slurm.SUCCESS end\n\
             slurm.log_user('QOSMaxSubmitJobPerUserLimit')\n\
             return 2050\n\
             end\n\
             function slurm_job_modify(job, record, partition, user) return slurm.SUCCESS end\n"
        );
        std::fs::write(self.path("job_submit.lua"), script).unwrap();
        let database = format!(
            "AuthType=auth/munge\nAuthInfo=socket={d}/munge/socket\nDbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={}\n\
             SlurmUser={user}\nLogFile={d}/log/dbd\nPidFile={d}/dbd.pid\nStorageType=accounting_storage/mysql\n\
             StorageHost=localhost\nStorageUser={user}\nStorageLoc=slurm\n",
            ports[5]
        );
        std::fs::write(self.path("slurmdbd.conf"), database).unwrap();
        // slurmdbd refuses to start where others may read it.
        std::fs::set_permissions(self.path("slurmdbd.conf"), std::fs::Permissions::from_mode(0o600)).unwrap();
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
        command.env("MYSQL_UNIX_PORT", self.path("database.socket"));
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
