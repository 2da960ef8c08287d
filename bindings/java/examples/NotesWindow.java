/* Notes in a window of Swing, which work offline.

       NotesWindow FOLDER [URL]

   Enter in the field adds a note, or edits the selected one. Control and O goes online or offline,
   Control and D deletes the selected note, Control and Z undoes.

   The window never waits for Kedge. What may wait (opening, edits, undo, closing) is done on one
   thread of the app, in order. Watches call back on Kedge's thread, since the database has no
   dispatcher, and hand what they got over to the thread of the window. */
import io.kedge.Database;
import io.kedge.DatabaseBuilder;
import io.kedge.Json;
import io.kedge.KedgeException;
import io.kedge.ResultChanges;
import io.kedge.Row;
import io.kedge.SyncStatus;
import io.kedge.UndoGroup;
import java.awt.BorderLayout;
import java.awt.Font;
import java.awt.event.ActionEvent;
import java.awt.event.WindowAdapter;
import java.awt.event.WindowEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.swing.AbstractAction;
import javax.swing.DefaultListModel;
import javax.swing.JComponent;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JList;
import javax.swing.JScrollPane;
import javax.swing.JTextField;
import javax.swing.KeyStroke;
import javax.swing.SwingUtilities;

final class NotesWindow {
    private static final String NOTES =
            "SELECT id, value ->> 'text' FROM notes ORDER BY value ->> 'text', id";

    private final Database db;
    private final ExecutorService edits;
    private final JFrame frame = new JFrame("Notes");
    private final JTextField field = new JTextField();
    private final DefaultListModel<String> texts = new DefaultListModel<>();
    private final JList<String> list = new JList<>(texts);
    private final JLabel state = new JLabel(" ");
    private final List<Row> rows = new ArrayList<>();
    private SyncStatus status; // the last that was told
    private boolean online;
    private int saving; // edits that the thread of the edits has not made yet

    private NotesWindow(Database db, ExecutorService edits) {
        this.db = db;
        this.edits = edits;
        list.setFont(list.getFont().deriveFont(Font.PLAIN, 18));
        field.setFont(list.getFont());
        field.addActionListener(event -> enter());
        list.addListSelectionListener(event -> showSelected());
        key("control O", () -> db.setOnline(online = !online)); // does not wait
        key("control D", this::delete);
        key("control Z", () -> edit(db::undo));
        frame.add(field, BorderLayout.NORTH);
        frame.add(new JScrollPane(list), BorderLayout.CENTER);
        frame.add(state, BorderLayout.SOUTH);
        frame.setSize(480, 360);
        frame.addWindowListener(new WindowAdapter() {
            @Override
            public void windowClosing(WindowEvent event) {
                frame.dispose();
                edits.execute(db::close); // after the edits
                edits.shutdown();
            }
        });
        db.watchQuery(NOTES, List.of(), changes -> SwingUtilities.invokeLater(() -> show(changes)));
        db.watchStatus(now -> SwingUtilities.invokeLater(() -> show(now)));
        frame.setVisible(true);
    }

    /** An action of a key, wherever the focus is. */
    private void key(String stroke, Runnable action) {
        JComponent root = frame.getRootPane();
        root.getInputMap(JComponent.WHEN_IN_FOCUSED_WINDOW).put(KeyStroke.getKeyStroke(stroke),
                stroke);
        root.getActionMap().put(stroke, new AbstractAction() {
            private static final long serialVersionUID = 1;

            @Override
            public void actionPerformed(ActionEvent event) {
                action.run();
            }
        });
    }

    /** Does an edit on the thread of the edits. */
    private void edit(Runnable edit) {
        saving++;
        showState();
        edits.execute(() -> {
            String failed = failureOf(edit);
            SwingUtilities.invokeLater(() -> {
                saving--;
                showState();
                if (failed != null) {
                    state.setText(failed);
                }
            });
        });
    }

    private static String failureOf(Runnable edit) {
        try {
            edit.run();
            return null;
        } catch (KedgeException failure) {
            return failure.sentence();
        }
    }

    /** One edit, which can be undone. */
    private void edit(String label, Runnable edit) {
        edit(() -> {
            try (UndoGroup group = db.undoGroup(label)) {
                edit.run();
                group.end();
            }
        });
    }

    private Row selected() {
        return list.getSelectedIndex() < 0 ? null : rows.get(list.getSelectedIndex());
    }

    private void enter() {
        Row note = selected();
        String text = field.getText();
        if (note == null) {
            edit("add", () -> db.mutate("kedge.put", Json.object("collection", "notes",
                    "id", UUID.randomUUID().toString(), "value", Json.object("text", text))));
        } else {
            edit("edit", () -> db.editText("notes", note.text(0), "/text", note.text(1), text));
        }
        list.clearSelection();
        field.setText("");
    }

    private void delete() {
        Row note = selected();
        if (note != null) {
            edit("delete", () -> db.mutate("kedge.delete",
                    Json.object("collection", "notes", "id", note.text(0))));
        }
    }

    private void showSelected() {
        if (selected() != null) {
            field.setText(selected().text(1));
        }
    }

    private void show(ResultChanges changes) {
        changes.apply(rows);
        texts.clear();
        rows.forEach(row -> texts.addElement(row.text(1)));
        showState();
    }

    private void show(SyncStatus now) {
        status = now;
        showState();
    }

    private void showState() {
        if (status == null) {
            return;
        }
        String told = rows.size() + " notes, "
                + status.connection().name().toLowerCase(Locale.ROOT) + ", " + status.pending()
                + " pending" + (saving > 0 ? ", " + saving + " saving" : "");
        state.setText(told);
        frame.setTitle("Notes: " + told);
    }

    public static void main(String[] words) {
        DatabaseBuilder notes = Database.builder(words[0]).url(words.length > 1 ? words[1] : null)
                .organization("demo").project("notes").offline(true);
        ExecutorService edits = Executors.newSingleThreadExecutor();
        edits.execute(() -> {
            try {
                Database db = notes.open();
                SwingUtilities.invokeLater(() -> new NotesWindow(db, edits));
            } catch (KedgeException failure) {
                System.err.println(failure.getMessage());
                edits.shutdown();
            }
        });
    }
}
